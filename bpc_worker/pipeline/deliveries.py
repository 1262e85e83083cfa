"""What was sent to a tenant's endpoints, what became of it, and how to send it again."""

from datetime import datetime
from uuid import UUID

import msgspec

from bpc_worker.domain import records
from bpc_worker.handler_api import Tx
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.pipeline.session import PipelineSession
from bpc_worker.pipeline.webhooks import find_endpoint, of
from bpc_worker.rows import all_of, one, value


class Delivery(records.Delivery, frozen=True):
    """With what became of it, and of its job as long as there is one."""

    http_status: int | None
    error_message: str | None
    created_at: datetime
    delivered_at: datetime | None
    job_id: UUID | None
    attempts: int | None
    max_attempts: int | None
    next_attempt_at: datetime | None


class Answered(msgspec.Struct, frozen=True):
    """What was sent, and what the receiver answered to the last attempt."""

    response_headers: dict[str, str] | None
    response_body: bytes | None
    body: bytes


async def send_test(pipeline: PipelineSession, wanted: str) -> UUID:
    """The delivery of a message that is no event; it is tried once."""
    async with pipeline.transaction() as tx:
        endpoint = await find_endpoint(pipeline, tx, wanted)
        made = await tx.query("webhooks/test", of(pipeline, endpoint))
    if not made:
        raise _switched_off(endpoint.webhook_endpoint_id, endpoint.disabled_reason)
    return value(made, UUID)


def _switched_off(endpoint_id: UUID, reason: str | None) -> Permanent:
    return Permanent(
        Code.WEBHOOK_GONE,
        f"the endpoint is switched off: {reason}; `bpc-worker webhook enable {endpoint_id}` switches it on",
    )


async def list_deliveries(
    pipeline: PipelineSession,
    *,
    endpoint: str | None = None,
    status: str | None = None,
    newer_seconds: float | None = None,
    after: UUID | None = None,
    limit: int | None = None,
) -> list[Delivery]:
    """Newest first; `after`: the last one of an earlier list."""
    async with pipeline.reading() as tx:
        of = None if endpoint is None else (await find_endpoint(pipeline, tx, endpoint)).webhook_endpoint_id
        wanted = {"webhook_endpoint_id": of, "status": status, "newer_seconds": newer_seconds}
        return await _deliveries(pipeline, tx, **wanted, after=after, limit=limit)


async def read_delivery(pipeline: PipelineSession, delivery_id: UUID) -> tuple[Delivery, Answered]:
    async with pipeline.reading() as tx:
        found = await _deliveries(pipeline, tx, webhook_delivery_id=delivery_id)
        params = {"tenant_id": pipeline.tenant_id, "webhook_delivery_id": delivery_id}
        return _only(found), one(await tx.query("webhooks/read_answer", params), Answered, "delivery")


def _only(found: list[Delivery]) -> Delivery:
    if not found:
        raise Permanent(
            Code.NOT_FOUND, "there is no such delivery; `bpc-worker webhook deliveries` shows them"
        )
    return found[0]


async def _deliveries(pipeline: PipelineSession, tx: Tx, **wanted: object) -> list[Delivery]:
    params: dict[str, object] = dict.fromkeys(
        ("webhook_endpoint_id", "webhook_delivery_id", "status", "newer_seconds", "after", "limit")
    )
    rows = await tx.query("webhooks/deliveries", params | {"tenant_id": pipeline.tenant_id} | wanted)
    return all_of(rows, Delivery)


async def replay(pipeline: PipelineSession, delivery_id: UUID) -> UUID:
    """The same bytes once more, as a delivery of its own."""
    async with pipeline.transaction() as tx:
        params = {"tenant_id": pipeline.tenant_id, "webhook_delivery_id": delivery_id}
        if made := await tx.query("webhooks/redeliver", params):
            return value(made, UUID)
        former = _only(await _deliveries(pipeline, tx, webhook_delivery_id=delivery_id))
        endpoint = await find_endpoint(pipeline, tx, str(former.webhook_endpoint_id))
    raise _switched_off(endpoint.webhook_endpoint_id, endpoint.disabled_reason)
