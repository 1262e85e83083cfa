"""The public door."""

from bpc_worker.web.layer.answers import Answer, Raw
from bpc_worker.web.layer.request import Request
from bpc_worker.web.layer.routes import OPEN, Door, Route
from bpc_worker.web.layer.templates import STATIC
from bpc_worker.web.parts import Parts


async def _robots(_: Request) -> Answer:
    return Raw(b"User-agent: *\nDisallow: /\n", "text/plain; charset=utf-8")


def public_door(parts: Parts) -> Door:  # noqa: ARG001 - its pages will ask the database
    routes = [Route("GET", "/robots.txt", _robots, OPEN, says="Nothing here is for search engines."), STATIC]
    return Door(
        name="public",
        routes=routes,
        identifies=False,
        pages=True,
        cors=True,
        cache="public, max-age=60, must-revalidate",
    )
