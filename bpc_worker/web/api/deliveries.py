"""What was sent to webhooks, what was answered, and the same once more."""

from base64 import b64encode
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import msgspec

from bpc_worker.domain.states import DeliveryStatus
from bpc_worker.pipeline.deliveries import list_deliveries, read_delivery, replay
from bpc_worker.pipeline.one_transaction import OneTransaction
from bpc_worker.web.api.context import Api, id_of
from bpc_worker.web.api.cursors import PageQuery, page
from bpc_worker.web.api.described import ApiRoute
from bpc_worker.web.api.once import once
from bpc_worker.web.api.shown import as_type
from bpc_worker.web.layer.answers import Answer, Data
from bpc_worker.web.layer.request import Request
from bpc_worker.web.layer.routes import needs

_ABOUT = "Webhooks"


class DeliveryLine(msgspec.Struct, frozen=True, kw_only=True):
    """`job_id`: of its job, as long as there is one."""

    webhook_delivery_id: UUID
    webhook_endpoint_id: UUID
    event_id: UUID
    event_type: str
    status: DeliveryStatus
    http_status: int | None
    error_message: str | None
    created_at: datetime
    delivered_at: datetime | None
    job_id: UUID | None
    attempts: int | None
    max_attempts: int | None
    next_attempt_at: datetime | None


class DeliveryDetail(DeliveryLine, frozen=True, kw_only=True):
    """The bytes that were sent, and those that were answered to the last attempt, in base64."""

    body: str
    response_headers: dict[str, str] | None
    response_body: str | None


class DeliveryPage(msgspec.Struct, frozen=True):
    items: list[DeliveryLine]
    next: str | None


class Replayed(msgspec.Struct, frozen=True):
    """As a delivery of its own."""

    webhook_delivery_id: UUID


class DeliveriesQuery(PageQuery, frozen=True, forbid_unknown_fields=True, kw_only=True):
    endpoint: UUID | None = None
    status: DeliveryStatus | None = None


@dataclass(frozen=True, slots=True)
class Deliveries:
    api: Api

    def routes(self) -> list[ApiRoute]:
        look = needs("webhooks")
        return [
            ApiRoute("GET", "/v1/deliveries", self.listed, look, query=DeliveriesQuery, about=_ABOUT,
                     answers=DeliveryPage, says="What was sent to webhooks, newest first."),
            ApiRoute("GET", "/v1/deliveries/{id}", self.shown, look, answers=DeliveryDetail, about=_ABOUT,
                     says="One, with the bytes that were sent, and those that were answered."),
            ApiRoute("POST", "/v1/deliveries/{id}:replay", self.replay, needs("webhooks", changes=True),
                     answers=Replayed, statuses=(202,), says="Send the same bytes once more.", about=_ABOUT),
        ]  # fmt: skip

    async def listed(self, request: Request) -> Answer:
        query = request.asked(DeliveriesQuery)
        found = await self.api.read(
            request,
            list_deliveries,
            endpoint=None if query.endpoint is None else str(query.endpoint),
            status=query.status,
            after=query.behind("deliveries", UUID),
            limit=query.limit + 1,
        )
        return page("deliveries", query, found, lambda each: each.webhook_delivery_id, request)

    async def shown(self, request: Request) -> Answer:
        line, answered = await self.api.read(request, read_delivery, id_of(request, "id", "delivery"))
        found = as_type(line, DeliveryLine)
        members = {name: getattr(found, name) for name in found.__struct_fields__}
        detail = DeliveryDetail(
            **members,
            body=b64encode(answered.body).decode(),
            response_headers=answered.response_headers,
            response_body=None
            if answered.response_body is None
            else b64encode(answered.response_body).decode(),
        )
        return Data(detail)

    async def replay(self, request: Request) -> Answer:
        wanted = id_of(request, "id", "delivery")

        async def act(one: OneTransaction) -> Data:
            return Data(Replayed(await replay(one, wanted)), 202)

        async with self.api.pipeline(request) as pipeline:
            return await once(pipeline, request, None, act)
