"""The page Webhooks: endpoints, deliveries with what was answered, and what may be done about them."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Literal
from urllib.parse import urlencode
from uuid import UUID

import msgspec

from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.jobs.model import TenantId
from bpc_worker.pipeline import deliveries, webhooks
from bpc_worker.pipeline.session import PipelineSession
from bpc_worker.web.dashboard import shown
from bpc_worker.web.dashboard.view import View, viewing
from bpc_worker.web.layer.answers import Answer, Page, SeeOther
from bpc_worker.web.layer.request import Request
from bpc_worker.web.parts import Parts

PAGE = 50
_OVERLAP_SECONDS = 86_400.0
_LONGEST = 20_000


class DeliveriesQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    status: Literal["", "PENDING", "DELIVERED", "FAILED"] = ""
    endpoint: str = ""
    after: str = ""


class Nothing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A form with a button alone; and what other buttons of the page have ticked."""

    back: str = ""


class _Endpoint(msgspec.Struct, frozen=True):
    webhook_endpoint_id: UUID
    tenant: str
    tenant_id: TenantId
    status: str
    max_attempts: int
    failing_since: datetime | None
    disabled_reason: str | None
    created_at: datetime
    former_until: datetime | None
    event_types: list[str]


class _Delivery(msgspec.Struct, frozen=True, kw_only=True):
    webhook_delivery_id: UUID
    tenant: str
    webhook_endpoint_id: UUID
    event_type: str
    status: str
    http_status: int | None
    error_message: str | None
    created_at: datetime
    delivered_at: datetime | None


class _Whole(_Delivery, frozen=True, kw_only=True):
    tenant_id: TenantId
    event_id: UUID
    response_headers: str | None
    response_body: bytes | None
    body: bytes


class EndpointLine(msgspec.Struct, frozen=True):
    id: UUID
    tenant: str
    status: str
    trouble: str
    events: str


class DeliveryLine(msgspec.Struct, frozen=True):
    id: UUID
    tenant: str
    endpoint: UUID
    type: str
    status: str
    answer: str
    error: str
    made: str
    delivered: str


class Webhooks(msgspec.Struct, frozen=True):
    at: str
    endpoints: list[EndpointLine]
    deliveries: list[DeliveryLine]
    asked: DeliveriesQuery
    more: str


class DeliveryPage(msgspec.Struct, frozen=True):
    at: str
    line: DeliveryLine
    event_id: UUID
    body: str
    headers: str
    answer: str
    may_see: bool


class NewKeys(msgspec.Struct, frozen=True):
    """Shown once."""

    id: UUID
    secret: str
    public_key: str
    former_until: str


async def show(parts: Parts, request: Request) -> Answer:
    asked = request.asked(DeliveriesQuery)
    async with viewing(parts, request) as view:
        endpoints = await view.rows("endpoints", _Endpoint)
        found = await view.rows(
            "deliveries",
            _Delivery,
            tenant_id=view.tenant_id,
            status=shown.or_none(asked.status),
            endpoint=shown.uuid_or_none(asked.endpoint),
            after=shown.uuid_or_none(asked.after),
            page=PAGE,
        )
    last = found[-1].webhook_delivery_id if len(found) == PAGE else None
    filters = {"status": asked.status, "endpoint": asked.endpoint, "after": str(last)}
    record = Webhooks(
        at=shown.stamp(view.now),
        endpoints=[_endpoint(each, view.now) for each in endpoints],
        deliveries=[_delivery(each) for each in found],
        asked=asked,
        more="" if last is None else urlencode({name: each for name, each in filters.items() if each}),
    )
    return Page("dashboard/webhooks.html", record)


def _endpoint(each: _Endpoint, now: datetime) -> EndpointLine:
    trouble = each.disabled_reason or shown.since(now, each.failing_since)
    return EndpointLine(
        each.webhook_endpoint_id, each.tenant, each.status, trouble, ", ".join(each.event_types)
    )


def _delivery(each: _Delivery) -> DeliveryLine:
    return DeliveryLine(
        id=each.webhook_delivery_id,
        tenant=each.tenant,
        endpoint=each.webhook_endpoint_id,
        type=each.event_type,
        status=each.status,
        answer="" if each.http_status is None else str(each.http_status),
        error=each.error_message or "",
        made=shown.stamp(each.created_at),
        delivered=shown.stamp(each.delivered_at),
    )


async def _found(view: View, request: Request) -> _Whole:
    wanted = shown.uuid_or_none(request.path_args["id"])
    rows = await view.rows("delivery", _Whole, id=wanted) if wanted else []
    if not rows:
        raise Permanent(Code.NOT_FOUND, "there is no such delivery")
    return rows[0]


async def show_delivery(parts: Parts, request: Request) -> Answer:
    may_see = request.identity.may("values")
    async with viewing(parts, request) as view:
        found = await _found(view, request)
    record = DeliveryPage(
        at=shown.stamp(view.now),
        line=_delivery(found),
        event_id=found.event_id,
        body=_text(found.body, may_see=may_see),
        headers=(found.response_headers or "") if may_see else "",
        answer=_text(found.response_body or b"", may_see=may_see),
        may_see=may_see,
    )
    return Page("dashboard/delivery.html", record)


def _text(body: bytes, *, may_see: bool) -> str:
    text = body[:_LONGEST].decode("utf-8", "replace")
    return text if may_see else shown.masked(text or None)


async def replay(parts: Parts, request: Request) -> Answer:
    """The same bytes once more."""
    async with viewing(parts, request) as view:
        found = await _found(view, request)
    async with parts.database.pipeline(request.identity, found.tenant_id) as pipeline:
        made = await deliveries.replay(pipeline, found.webhook_delivery_id)
    return SeeOther(f"/deliveries/{made}")


async def _of_endpoint(
    parts: Parts, request: Request, act: Callable[[PipelineSession, str], Awaitable[object]]
) -> object:
    wanted = shown.uuid_or_none(request.path_args["id"])
    async with viewing(parts, request) as view:
        rows = await view.rows("endpoints", _Endpoint)
    found = next((each for each in rows if each.webhook_endpoint_id == wanted), None)
    if found is None:
        raise Permanent(Code.NOT_FOUND, "there is no such endpoint")
    async with parts.database.pipeline(request.identity, found.tenant_id) as pipeline:
        return await act(pipeline, str(found.webhook_endpoint_id))


async def send_test(parts: Parts, request: Request) -> Answer:
    made = await _of_endpoint(parts, request, deliveries.send_test)
    return SeeOther(f"/deliveries/{made}")


async def enable(parts: Parts, request: Request) -> Answer:
    await _of_endpoint(parts, request, webhooks.enable)
    return SeeOther("/webhooks")


async def rotate(parts: Parts, request: Request) -> Answer:
    """New keys, those of now beside them for a day. The secret is shown on this answer and never again."""

    async def act(pipeline: PipelineSession, wanted: str) -> webhooks.Keys:
        return await webhooks.rotate(pipeline, wanted, overlap_seconds=_OVERLAP_SECONDS)

    made = await _of_endpoint(parts, request, act)
    assert isinstance(made, webhooks.Keys)  # noqa: S101 - what `act` gives
    record = NewKeys(
        made.webhook_endpoint_id, made.secret, made.public_key.hex(), shown.stamp(made.former_until)
    )
    return Page("dashboard/keys.html", record)
