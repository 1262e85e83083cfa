"""DELIVER_WEBHOOK: tell an endpoint of an event, with bytes that were made together with it."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlsplit
from uuid import UUID

from bpc_worker.core import webhook_signature
from bpc_worker.core.base.forms import timestamp
from bpc_worker.core.base.retry_after import retry_after
from bpc_worker.domain import records
from bpc_worker.domain.events import Happened, tell
from bpc_worker.domain.states import DeliveryStatus, EndpointStatus
from bpc_worker.handler_api import (
    Answer,
    Code,
    Context,
    HandlerSpec,
    Payload,
    Permanent,
    Priority,
    Retryable,
    Snooze,
    Tally,
    Tx,
)
from bpc_worker.rows import one

_MOST_HEADER_CHARACTERS = 16 * 1024
_GONE = 410
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_LONGEST_POSTPONED = 300.0


class DeliverWebhook(Payload, frozen=True):
    webhook_delivery_id: UUID


class Delivery(records.Delivery, frozen=True):
    """With where it goes, and what it is signed with."""

    body: bytes
    url: str
    endpoint_status: EndpointStatus
    disabled_reason: str | None
    failing_since: datetime | None
    secret: bytes
    former_secret: bytes | None
    now: datetime


@dataclass(frozen=True, slots=True)
class Attempt:
    """What came of it: an answer, an error, or an answer that is one."""

    answer: Answer | None
    error: Retryable | Permanent | None


async def handle(payload: DeliverWebhook, ctx: Context) -> None:
    wanted = {"tenant_id": ctx.job.tenant_id, "webhook_delivery_id": payload.webhook_delivery_id}
    delivery = one(await ctx.read("webhooks/read_delivery", wanted), Delivery, "delivery")
    if delivery.status == DeliveryStatus.DELIVERED:
        return
    _check(delivery)
    try:
        made = await _attempt(delivery, _headers(delivery, ctx), ctx)
    except Snooze as snooze:
        seconds = snooze.seconds
        await ctx.snooze(lambda tx: _postpone(tx, ctx, delivery, seconds), snooze)
    how = DeliveryStatus.DELIVERED if made.error is None else made.error.code
    ctx.count(Tally.WEBHOOK_DELIVERIES, how)
    match made.error:
        case None:
            await ctx.complete(lambda tx: _delivered(tx, ctx, delivery, made))
        case Permanent() as error:
            await ctx.reject(lambda tx: _gave_up(tx, ctx, delivery, made), error)
        case Retryable() as error:
            since = delivery.failing_since
            if (
                since is not None
                and (delivery.now - since).total_seconds() > ctx.policy.webhook_disable_after
            ):
                reason = f"nothing but failures since {timestamp(since)}"
                gone = Permanent(Code.WEBHOOK_GONE, f"switched off: {reason}; the last one: {error.message}")
                await ctx.reject(lambda tx: _switch_off(tx, ctx, delivery, made, reason), gone)
            await ctx.retry(lambda tx: _failed(tx, ctx, delivery, made), error)


def _check(delivery: Delivery) -> None:
    if delivery.status != DeliveryStatus.PENDING:
        message = f"the delivery is {delivery.status}; `bpc-worker webhook replay` makes another"
        raise Permanent(Code.VALIDATION_ERROR, message)
    if delivery.endpoint_status != EndpointStatus.ACTIVE:
        raise Permanent(Code.WEBHOOK_GONE, f"the endpoint is switched off: {delivery.disabled_reason}")


def _headers(delivery: Delivery, ctx: Context) -> dict[str, str]:
    """Signed anew for every attempt; sealed bytes that are not of this endpoint sign nothing."""
    sealed = [delivery.secret] + ([] if delivery.former_secret is None else [delivery.former_secret])
    keys = [
        webhook_signature.WebhookKeys.from_bytes(ctx.unseal(each, row_id=delivery.webhook_endpoint_id))
        for each in sealed
    ]
    return webhook_signature.headers(
        delivery.webhook_delivery_id, delivery.event_type, int(delivery.now.timestamp()), delivery.body, keys
    )


async def _attempt(delivery: Delivery, headers: dict[str, str], ctx: Context) -> Attempt:
    endpoint = str(delivery.webhook_endpoint_id)
    host = _host(delivery.url)
    answer: Answer | None = None
    try:
        async with ctx.place(endpoint):
            with ctx.breaker(host, key=endpoint, code=Code.WEBHOOK_FAILED):
                answer = await ctx.post(delivery.url, headers=headers, body=delivery.body, kept_for=endpoint)
                _judge(answer, host, delivery.now)
    except (Permanent, Retryable) as error:
        return Attempt(answer, error)
    return Attempt(answer, None)


def _host(url: str) -> str:
    """As the breaker is called; that a URL is none, `ctx.post` says best."""
    try:
        return urlsplit(url).hostname or "?"
    except ValueError:
        return "?"


def _judge(answer: Answer, host: str, now: datetime) -> None:
    """2xx is what we want; 410 says never again; everything else, redirects too, may be better later."""
    if answer.status // 100 == 2:  # noqa: PLR2004 - the class of success
        return
    if answer.status == _GONE:
        raise Permanent(Code.WEBHOOK_GONE, f"{host} answered 410: the endpoint is switched off")
    wish = retry_after(answer.headers, now=now)
    asked = "" if wish is None else f", and asks for {wish:.0f} s of patience"
    moved = ", and redirects are not followed" if answer.status in _REDIRECTS else ""
    message = f"{host} answered {answer.status}{moved}{asked}"
    raise Retryable(Code.WEBHOOK_FAILED, message, after_seconds=wish or 0.0)


async def _postpone(tx: Tx, ctx: Context, delivery: Delivery, seconds: float) -> None:
    """What else waits for this endpoint; the longer it has been failing, the longer, up to five minutes."""
    failing = (
        0.0 if delivery.failing_since is None else (delivery.now - delivery.failing_since).total_seconds()
    )
    grown = max(seconds, min(_LONGEST_POSTPONED, failing / 10))
    tx.send("webhooks/postpone", _endpoint(ctx, delivery) | {"seconds": grown, "queue": ctx.job.queue})


async def _delivered(tx: Tx, ctx: Context, delivery: Delivery, made: Attempt) -> None:
    tx.send("webhooks/delivered", _row(ctx, delivery, made))
    if delivery.failing_since is not None:
        tx.send("webhooks/works", _endpoint(ctx, delivery))


async def _failed(tx: Tx, ctx: Context, delivery: Delivery, made: Attempt) -> None:
    tx.send("webhooks/not_delivered", _row(ctx, delivery, made))
    if delivery.failing_since is None:
        tx.send("webhooks/fails", _endpoint(ctx, delivery))


async def _gave_up(tx: Tx, ctx: Context, delivery: Delivery, made: Attempt) -> None:
    if made.answer is None:  # it was never asked
        tx.send("webhooks/not_delivered", _row(ctx, delivery, made))
    else:
        await _switch_off(tx, ctx, delivery, made, "it answered 410 Gone")


async def _switch_off(tx: Tx, ctx: Context, delivery: Delivery, made: Attempt, reason: str) -> None:
    tx.send("webhooks/not_delivered", _row(ctx, delivery, made))
    if not await tx.query("webhooks/disable", _endpoint(ctx, delivery) | {"reason": reason}):
        return
    happened = Happened(
        event_type="WEBHOOK_ENDPOINT_DISABLED",
        aggregate_type="webhook_endpoint",
        aggregate_id=delivery.webhook_endpoint_id,
        payload={"reason": reason, "webhook_delivery_id": str(delivery.webhook_delivery_id)},
    )
    await tell(tx, ctx.job, happened)


def _endpoint(ctx: Context, delivery: Delivery) -> dict[str, object]:
    return {"tenant_id": ctx.job.tenant_id, "webhook_endpoint_id": delivery.webhook_endpoint_id}


def _row(ctx: Context, delivery: Delivery, made: Attempt) -> dict[str, object]:
    answer = made.answer
    return {
        "tenant_id": ctx.job.tenant_id,
        "webhook_delivery_id": delivery.webhook_delivery_id,
        "http_status": None if answer is None else answer.status,
        "response_headers": None if answer is None else _kept_headers(answer.headers),
        "response_body": None if answer is None else answer.body,
        "error_message": None if made.error is None else f"{made.error.code}: {made.error.message}",
    }


def _kept_headers(headers: Iterable[tuple[str, str]]) -> str:
    """As an object, repeated names joined; what is beyond the limit is left out."""
    kept: dict[str, str] = {}
    room = _MOST_HEADER_CHARACTERS
    for name, value in headers:
        room -= len(name) + len(value)
        if room < 0:
            break
        lower = name.lower()
        kept[lower] = f"{kept[lower]}, {value}" if lower in kept else value
    return json.dumps(kept)


SPEC = HandlerSpec(
    job_type="DELIVER_WEBHOOK",
    payload=DeliverWebhook,
    handle=handle,
    priority=Priority.LOW,
    timeout_seconds=60,
    waits_outside=True,
)
