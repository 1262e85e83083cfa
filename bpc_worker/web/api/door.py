"""The API's door: its routes, its description, and a plain page that lists them."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import msgspec

from bpc_worker import __version__
from bpc_worker.jobs.errors import JobError
from bpc_worker.observability import log
from bpc_worker.postgres.sql_files import query
from bpc_worker.rows import value
from bpc_worker.web.api.builds import Builds
from bpc_worker.web.api.bulk import Bulk
from bpc_worker.web.api.carriers import Carriers
from bpc_worker.web.api.context import Api
from bpc_worker.web.api.deliveries import Deliveries
from bpc_worker.web.api.described import ApiRoute
from bpc_worker.web.api.documents import Documents
from bpc_worker.web.api.events import Events
from bpc_worker.web.api.files import Files
from bpc_worker.web.api.helped import helped
from bpc_worker.web.api.jobs import Jobs
from bpc_worker.web.api.openapi import document
from bpc_worker.web.api.passports import Passports
from bpc_worker.web.api.products import Products
from bpc_worker.web.api.versions import Versions
from bpc_worker.web.api.waiting import Watch
from bpc_worker.web.api.webhooks import WebhookRoutes
from bpc_worker.web.database.roles import WebDatabase
from bpc_worker.web.layer.answers import Answer, Data, Page
from bpc_worker.web.layer.request import Request
from bpc_worker.web.layer.routes import OPEN, Door, Route, needs
from bpc_worker.web.layer.templates import STATIC
from bpc_worker.web.parts import Parts

_log = log.get("web")
_FORGET_SECONDS = 600.0
_PAGE = 1000


class WhoAmI(msgspec.Struct, frozen=True):
    """What the token that was sent stands for."""

    name: str
    tenant_id: str | None
    scopes: list[str]
    audience: str


@dataclass(frozen=True, slots=True)
class Listed:
    """What the page shows."""

    routes: Sequence[ApiRoute]
    version: str


def api_door(parts: Parts) -> Door:
    watch = Watch(parts.database)
    api = Api(settings=parts.settings, database=parts.database, watch=watch)
    routes = api_routes(api)
    described = document(routes)
    listed = Listed(routes, __version__)

    async def openapi(_: Request) -> Answer:
        return Data(described, cache="public, max-age=300")

    async def index(_: Request) -> Answer:
        return Page("api/index.html", listed)

    return Door(
        name="api",
        routes=[
            *(helped(each) for each in routes),
            Route("GET", "/openapi.json", openapi, OPEN, says="What this door can do, as OpenAPI 3.1."),
            Route("GET", "/", index, OPEN, says="The same as a plain page."),
            STATIC,
        ],
        cache="private, no-cache",
        duties=(watch.look, partial(_forget, parts.database)),
    )


def api_routes(api: Api) -> list[ApiRoute]:
    """The table: by resource, in the order in which a day goes."""
    resources = (
        Documents(api), Products(api), Carriers(api), Builds(api), Bulk(api), Passports(api), Versions(api),
        Files(api), WebhookRoutes(api), Deliveries(api), Events(api, {}), Jobs(api),
    )  # fmt: skip
    whoami = ApiRoute(
        "GET", "/v1/whoami", _whoami, needs("read"), answers=WhoAmI, about="Tokens",
        says="What the token that was sent stands for.",
    )  # fmt: skip
    return [*(route for each in resources for route in each.routes()), whoami]


async def _whoami(request: Request) -> Answer:
    who = request.identity
    tenant = None if who.tenant_id is None else str(who.tenant_id)
    return Data(WhoAmI(who.name, tenant, sorted(who.scopes), who.audience))


async def _forget(database: WebDatabase) -> None:
    """Answers that were kept for a day, little by little."""
    while True:
        await asyncio.sleep(_FORGET_SECONDS)
        try:
            async with database.keeper() as link:
                while (
                    value(await link.run(query("api/forget_requests"), {"page": _PAGE}, timeout=60.0), int)
                    == _PAGE
                ):
                    pass
        except JobError as error:
            _log.warning("forget_failed", error_code=error.code, error_message=error.message)
