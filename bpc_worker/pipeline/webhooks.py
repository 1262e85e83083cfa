"""Where a tenant has its events sent to: endpoints with their secrets, and what they are told of."""

import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from bpc_worker import ids, wiring
from bpc_worker.core.base.forms import timestamp
from bpc_worker.core.base.signing import SEED_SIZE
from bpc_worker.core.webhook_signature import WebhookKeys, WebhookSignatureError, secret_from
from bpc_worker.domain.events import Happened
from bpc_worker.domain.states import EndpointStatus
from bpc_worker.egress.targets import target_of
from bpc_worker.handler_api import Tx
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.pipeline.session import PipelineSession, check_reason, uuid_or_none
from bpc_worker.postgres.again import again
from bpc_worker.rows import all_of

ALL_EVENTS = "*"
EVENT_TYPES = (
    "DOCUMENT_VALIDATED", "DOCUMENT_REJECTED", "SNAPSHOT_SEALED", "RULES_VALIDATED", "RULES_PUBLISHED",
    "PASSPORT_COMPILED", "PASSPORT_SIGNED", "SIGNING_REFUSED", "PASSPORT_QR_GENERATED", "PASSPORT_ACTIVATED",
    "PASSPORT_RELEASED", "PASSPORT_SUPERSEDED", "PASSPORT_REVOKED", "PASSPORT_TRANSFERRED", "PASSPORT_ENDED",
    "PASSPORT_EXPORTED", "PASSPORT_REGISTERED", "BUILD_STOPPED",
    "WEBHOOK_ENDPOINT_ADDED", "WEBHOOK_ENDPOINT_ROTATED", "WEBHOOK_ENDPOINT_ENABLED",
    "WEBHOOK_ENDPOINT_DISABLED", "KEY_ADDED", "KEY_RETIRED", "KEY_REVOKED", "TOKEN_CREATED", "TOKEN_REVOKED",
    "RETENTION_APPLIED", "JOB_DEAD_LETTERED",
)  # fmt: skip

_SECRET_BYTES = 32


class Endpoint(msgspec.Struct, frozen=True):
    webhook_endpoint_id: UUID
    url: str
    status: EndpointStatus
    max_attempts: int
    public_key: bytes
    former_until: datetime | None
    failing_since: datetime | None
    disabled_at: datetime | None
    disabled_reason: str | None
    created_at: datetime
    event_types: list[str]


class Keys(msgspec.Struct, frozen=True):
    """Of an endpoint; the secret is shown this once."""

    webhook_endpoint_id: UUID
    secret: str
    public_key: bytes
    former_until: datetime | None = None


@again
async def add_endpoint(
    pipeline: PipelineSession,
    url: str,
    *,
    event_types: Sequence[str],
    max_attempts: int,
    secret: str | None = None,
) -> Keys:
    """ACTIVE from now on, and told of every event that happens after this."""
    target = target_of(url, wiring.egress_rules(pipeline.settings))
    unknown = [each for each in event_types if each not in (*EVENT_TYPES, ALL_EVENTS)]
    if unknown:
        known = ", ".join(EVENT_TYPES)
        raise Permanent(Code.VALIDATION_ERROR, f"no event is called {unknown[0]!r}; there are {known}")
    endpoint_id, keys = ids.uuid7(), _new_keys(secret)
    named = {"host": target.host, "event_types": sorted(set(event_types))}  # a path may be a secret
    async with pipeline.transaction() as tx:
        await _tell(pipeline, tx, "ADDED", endpoint_id, named | {"public_key": keys.public_key.hex()})
        params = {
            "tenant_id": pipeline.tenant_id,
            "webhook_endpoint_id": endpoint_id,
            "url": url,
            "max_attempts": max_attempts,
            "secret": _sealed(pipeline, keys, endpoint_id),
            "public_key": keys.public_key,
            "event_types": named["event_types"],
        }
        await tx.query("webhooks/add", params)
        await tx.query("webhooks/subscribe", params)
    return Keys(endpoint_id, keys.secret_text, keys.public_key)


def _new_keys(secret: str | None) -> WebhookKeys:
    try:
        given = secrets.token_bytes(_SECRET_BYTES) if secret is None else secret_from(secret)
    except WebhookSignatureError as error:
        raise Permanent(Code.VALIDATION_ERROR, str(error)) from error
    return WebhookKeys(secret=given, seed=secrets.token_bytes(SEED_SIZE))


def _sealed(pipeline: PipelineSession, keys: WebhookKeys, endpoint_id: UUID) -> bytes:
    sealer = wiring.keyring(pipeline.settings).sealer
    return sealer.seal(keys.to_bytes(), tenant_id=pipeline.tenant_id, row_id=endpoint_id)


@again
async def rotate(
    pipeline: PipelineSession, wanted: str, *, overlap_seconds: float, secret: str | None = None
) -> Keys:
    """Another secret and another key pair; those of now go on signing beside them for a while."""
    keys = _new_keys(secret)
    async with pipeline.transaction() as tx:
        endpoint = await find_endpoint(pipeline, tx, wanted)
        params = of(pipeline, endpoint) | {
            "secret": _sealed(pipeline, keys, endpoint.webhook_endpoint_id),
            "public_key": keys.public_key,
            "overlap_seconds": overlap_seconds,
        }
        [row] = await tx.query("webhooks/rotate", params)
        former_until = msgspec.convert(row["former_until"], datetime | None)
        until = None if former_until is None else timestamp(former_until)
        changed = {"public_key": keys.public_key.hex(), "former_until": until}
        await _tell(pipeline, tx, "ROTATED", endpoint.webhook_endpoint_id, changed)
    return Keys(endpoint.webhook_endpoint_id, keys.secret_text, keys.public_key, former_until)


async def list_endpoints(pipeline: PipelineSession) -> list[Endpoint]:
    return await pipeline.rows("webhooks/list", Endpoint, id=None, url=None)


async def find_endpoint(pipeline: PipelineSession, tx: Tx, wanted: str) -> Endpoint:
    """By its id, or by its address if no other has the same."""
    params = {"tenant_id": pipeline.tenant_id, "id": uuid_or_none(wanted), "url": wanted.replace("\0", "")}
    found = all_of(await tx.query("webhooks/list", params), Endpoint)
    if not found:
        raise Permanent(Code.NOT_FOUND, "there is no such endpoint; `bpc-worker webhook list` shows them")
    if len(found) > 1:
        named = ", ".join(str(each.webhook_endpoint_id) for each in found)
        raise Permanent(Code.VALIDATION_ERROR, f"several endpoints have this address, say which: {named}")
    return found[0]


@again
async def disable(pipeline: PipelineSession, wanted: str, reason: str) -> tuple[Endpoint, bool]:
    """The endpoint, and whether it was ACTIVE until now. What is still PENDING fails when its turn comes."""
    check_reason(reason)
    async with pipeline.transaction() as tx:
        endpoint = await find_endpoint(pipeline, tx, wanted)
        if not await tx.query("webhooks/disable", of(pipeline, endpoint) | {"reason": reason}):
            return endpoint, False
        await _tell(pipeline, tx, "DISABLED", endpoint.webhook_endpoint_id, {"reason": reason})
        return endpoint, True


@again
async def enable(pipeline: PipelineSession, wanted: str) -> tuple[Endpoint, bool]:
    """The endpoint, and whether it was switched off until now."""
    async with pipeline.transaction() as tx:
        endpoint = await find_endpoint(pipeline, tx, wanted)
        if not await tx.query("webhooks/enable", of(pipeline, endpoint)):
            return endpoint, False
        was = {"disabled_reason": endpoint.disabled_reason}
        await _tell(pipeline, tx, "ENABLED", endpoint.webhook_endpoint_id, was)
        return endpoint, True


async def _tell(
    pipeline: PipelineSession, tx: Tx, what: str, endpoint_id: UUID, payload: Mapping[str, object]
) -> None:
    happened = Happened(
        event_type=f"WEBHOOK_ENDPOINT_{what}",
        aggregate_type="webhook_endpoint",
        aggregate_id=endpoint_id,
        payload=payload,
    )
    await pipeline.record(tx, happened)


def of(pipeline: PipelineSession, endpoint: Endpoint) -> dict[str, object]:
    """The parameters that name it."""
    return {"tenant_id": pipeline.tenant_id, "webhook_endpoint_id": endpoint.webhook_endpoint_id}
