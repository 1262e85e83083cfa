"""The API's door."""

import msgspec

from bpc_worker.web.layer.answers import Answer, Data
from bpc_worker.web.layer.request import Request
from bpc_worker.web.layer.routes import Door, Route, needs
from bpc_worker.web.parts import Parts


class WhoAmI(msgspec.Struct, frozen=True):
    """What the token that was sent stands for."""

    name: str
    tenant_id: str | None
    scopes: list[str]
    audience: str


async def _whoami(request: Request) -> Answer:
    who = request.identity
    tenant = None if who.tenant_id is None else str(who.tenant_id)
    return Data(WhoAmI(who.name, tenant, sorted(who.scopes), who.audience))


def api_door(parts: Parts) -> Door:  # noqa: ARG001 - its routes will ask the database
    says = "What the token that was sent stands for."
    routes = [Route("GET", "/v1/whoami", _whoami, needs("read"), answers=WhoAmI, says=says)]
    return Door(name="api", routes=routes, cache="private, no-cache")
