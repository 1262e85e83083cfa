"""The dashboard's door."""

from bpc_worker.web.dashboard.sessions import SIGN_IN, session_routes
from bpc_worker.web.layer.answers import Answer, Page
from bpc_worker.web.layer.request import Request
from bpc_worker.web.layer.routes import Door, Route, needs
from bpc_worker.web.layer.templates import STATIC
from bpc_worker.web.parts import Parts


async def _home(_: Request) -> Answer:
    return Page("dashboard/home.html", None)


def dashboard_door(parts: Parts) -> Door:
    routes = [
        Route("GET", "/", _home, needs("read"), says="What waits and what needs a person."),
        *session_routes(parts),
        STATIC,
    ]
    return Door(name="dashboard", routes=routes, pages=True, sign_in=SIGN_IN)
