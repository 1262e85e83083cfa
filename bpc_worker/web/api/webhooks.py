"""Webhooks: where events are sent to, with their secrets; a try, another secret, off and on."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated
from uuid import UUID

import msgspec

from bpc_worker.domain.states import EndpointStatus
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.pipeline.deliveries import send_test
from bpc_worker.pipeline.one_transaction import OneTransaction
from bpc_worker.pipeline.session import PipelineSession
from bpc_worker.pipeline.webhooks import (
    ALL_EVENTS,
    Keys,
    add_endpoint,
    disable,
    enable,
    list_endpoints,
    rotate,
)
from bpc_worker.web.api.bodies import optional_json
from bpc_worker.web.api.context import Api, id_of
from bpc_worker.web.api.described import JSON, ApiRoute
from bpc_worker.web.api.once import Act, Keeps, once
from bpc_worker.web.api.shown import as_type
from bpc_worker.web.layer.answers import Answer, Data
from bpc_worker.web.layer.request import Request
from bpc_worker.web.layer.routes import needs

_ABOUT = "Webhooks"
_DAY = 86_400


class Webhook(msgspec.Struct, frozen=True, kw_only=True):
    webhook_endpoint_id: UUID
    url: str
    status: EndpointStatus
    event_types: list[str]
    max_attempts: int
    public_key: str
    former_until: datetime | None
    failing_since: datetime | None
    disabled_at: datetime | None
    disabled_reason: str | None
    created_at: datetime


class Webhooks(msgspec.Struct, frozen=True):
    items: list[Webhook]


class NewWebhook(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`event_types`: those that are sent; `*` for all. `secret`: your own, as Standard Webhooks has it."""

    url: Annotated[str, msgspec.Meta(min_length=1, max_length=2048)]
    event_types: Annotated[list[str], msgspec.Meta(min_length=1, max_length=100)] = msgspec.field(
        default_factory=lambda: [ALL_EVENTS]
    )
    max_attempts: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 100
    secret: str | None = None


class WebhookKeys(msgspec.Struct, frozen=True, kw_only=True):
    """The secret is shown this once. `former_until`: until then the former one signs as well."""

    webhook_endpoint_id: UUID
    secret: str
    public_key: str
    former_until: datetime | None


class Rotation(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`overlap_seconds`: for how long the former secret signs as well."""

    overlap_seconds: Annotated[int, msgspec.Meta(ge=0, le=30 * _DAY)] = _DAY
    secret: str | None = None


class Disabling(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    reason: str


class TestSent(msgspec.Struct, frozen=True):
    webhook_delivery_id: UUID


@dataclass(frozen=True, slots=True)
class WebhookRoutes:
    api: Api

    def routes(self) -> list[ApiRoute]:
        look, act = needs("webhooks"), needs("webhooks", changes=True)
        one = "/v1/webhooks/{id}"
        return [
            ApiRoute("GET", "/v1/webhooks", self.listed, look, answers=Webhooks, about=_ABOUT,
                     says="Where events are sent to."),
            ApiRoute("POST", "/v1/webhooks", self.add, act, body=NewWebhook, answers=WebhookKeys,
                     says="Have events sent to an address.", about=_ABOUT, statuses=(201,)),
            ApiRoute("GET", one, self.shown, look, answers=Webhook, says="One of them.", about=_ABOUT),
            ApiRoute("POST", f"{one}:test", self.test, act, answers=TestSent, about=_ABOUT, statuses=(202,),
                     says="Send a message that is no event; it is tried once."),
            ApiRoute("POST", f"{one}:rotate", self.rotate, act, body=bytes, answers=WebhookKeys,
                     says="Another secret and another key.", about=_ABOUT, takes={JSON: Rotation}),
            ApiRoute("POST", f"{one}:disable", self.disable, act, body=Disabling, answers=Webhook,
                     says="Send nothing more there.", about=_ABOUT),
            ApiRoute("POST", f"{one}:enable", self.enable, act, answers=Webhook, about=_ABOUT,
                     says="Send there again, from now on."),
        ]  # fmt: skip

    async def listed(self, request: Request) -> Answer:
        found = await self.api.read(request, list_endpoints)
        return Data({"items": [as_type(each, Webhook) for each in found]})

    async def shown(self, request: Request) -> Answer:
        return Data(await self.api.read(request, find_webhook, id_of(request, "id", "endpoint")))

    async def add(self, request: Request) -> Answer:
        told = request.given(NewWebhook)

        async def act(one: OneTransaction) -> Data:
            made = await add_endpoint(
                one,
                told.url,
                event_types=told.event_types,
                max_attempts=told.max_attempts,
                secret=told.secret,
            )
            location = {"Location": f"/v1/webhooks/{made.webhook_endpoint_id}"}
            return Data(_keys(made), 201, headers=location)

        return await self._once(request, told, act, Keeps.SEALED)

    async def rotate(self, request: Request) -> Answer:
        told, wanted = optional_json(request, Rotation), str(id_of(request, "id", "endpoint"))

        async def act(one: OneTransaction) -> Data:
            made = await rotate(one, wanted, overlap_seconds=told.overlap_seconds, secret=told.secret)
            return Data(_keys(made))

        return await self._once(request, told, act, Keeps.SEALED)

    async def test(self, request: Request) -> Answer:
        wanted = str(id_of(request, "id", "endpoint"))

        async def act(one: OneTransaction) -> Data:
            return Data(TestSent(await send_test(one, wanted)), 202)

        return await self._once(request, None, act)

    async def disable(self, request: Request) -> Answer:
        told, wanted = request.given(Disabling), id_of(request, "id", "endpoint")

        async def act(one: OneTransaction) -> Data:
            await disable(one, str(wanted), told.reason)
            return Data(await find_webhook(one, wanted))

        return await self._once(request, told, act)

    async def enable(self, request: Request) -> Answer:
        wanted = id_of(request, "id", "endpoint")

        async def act(one: OneTransaction) -> Data:
            await enable(one, str(wanted))
            return Data(await find_webhook(one, wanted))

        return await self._once(request, None, act)

    async def _once(self, request: Request, told: object, act: Act, keeps: Keeps = Keeps.ANSWER) -> Answer:
        async with self.api.pipeline(request) as pipeline:
            return await once(pipeline, request, told, act, keeps=keeps)


async def find_webhook(pipeline: PipelineSession, wanted: UUID) -> Webhook:
    found = [each for each in await list_endpoints(pipeline) if each.webhook_endpoint_id == wanted]
    if not found:
        raise Permanent(Code.NOT_FOUND, "there is no such endpoint")
    return as_type(found[0], Webhook)


def _keys(made: Keys) -> WebhookKeys:
    return as_type(made, WebhookKeys)
