"""The EU registry: what it is told of passports in force, and what it has confirmed."""

from collections.abc import Sequence
from uuid import UUID

import msgspec

from bpc_worker.core.base.hashing import sha256
from bpc_worker.core.passport.registration import Request, troubles
from bpc_worker.domain.events import Happened
from bpc_worker.domain.registering import public_view_hash, request_of
from bpc_worker.domain.states import PassportStatus
from bpc_worker.domain.stored import StoredVersion, read_stored
from bpc_worker.handler_api import Tx
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.pipeline.registration_proof import Registered, read_proof
from bpc_worker.pipeline.session import PipelineSession
from bpc_worker.pipeline.stored import read_version
from bpc_worker.postgres.again import again
from bpc_worker.rows import all_of

MOST = 10_000  # in one call

_MOST_TROUBLES = 20


class _Version(msgspec.Struct, frozen=True):
    passport_version_id: UUID


class Recorded(msgspec.Struct, frozen=True):
    """A registration, and whether it was not known before."""

    serial: str
    unique_identifier: str
    registration_id: str
    passport_version_id: UUID
    added: bool


async def requests(pipeline: PipelineSession, wanted: Sequence[str], product: str | None) -> list[Request]:
    """Those that are named; without names, all in force that the registry has not confirmed.

    All or none: what the registry would not take is told of every battery.
    """
    named = wanted or await _due(pipeline, product)
    found: list[Request] = []
    wrong: list[str] = []
    most = pipeline.settings.limits.identifier_characters
    for each in named:
        version = await read_version(pipeline, each)
        request = request_of(version)
        found.append(request)
        wrong += [f"{version.row.serial}: {trouble}" for trouble in _troubles(version, request, most)]
    if wrong:
        more = f"; and {len(wrong) - _MOST_TROUBLES} more" if len(wrong) > _MOST_TROUBLES else ""
        raise Permanent(Code.VALIDATION_ERROR, "; ".join(wrong[:_MOST_TROUBLES]) + more)
    return found


async def _due(pipeline: PipelineSession, product: str | None) -> list[str]:
    found = await pipeline.rows("registry/due", _Version, product=product, limit=MOST)
    return [str(each.passport_version_id) for each in found]


def _troubles(version: StoredVersion, request: Request, most: int) -> list[str]:
    status = version.row.status
    inactive = [] if status == PassportStatus.ACTIVE else [f"its version is {status}, not ACTIVE"]
    return inactive + troubles(request, most)


@again
async def record_proof(pipeline: PipelineSession, content: bytes) -> list[Recorded]:
    """All that the proof tells, or nothing. The same proof again changes nothing."""
    told = read_proof(content)
    async with pipeline.transaction() as tx:
        return [await _record(pipeline, tx, each, sha256(content)) for each in told]


async def _record(pipeline: PipelineSession, tx: Tx, told: Registered, proof: bytes) -> Recorded:
    row = (await _registered_version(pipeline, tx, told)).row
    about: dict[str, object] = {
        "passport_version_id": row.passport_version_id,
        "registration_id": told.registration_id,
        "registered_at": told.registered_at,
    }
    params = about | {
        "tenant_id": pipeline.tenant_id,
        "passport_id": row.passport_id,
        "proof_sha256": proof,
    }
    added = bool(await tx.query("registry/add", params))
    if added:
        happened = Happened(
            event_type="PASSPORT_REGISTERED",
            aggregate_type="passport",
            aggregate_id=row.passport_id,
            payload={
                "passport_version_id": str(row.passport_version_id),
                "registration_id": told.registration_id,
            },
        )
        await pipeline.record(tx, happened)
    return Recorded(row.serial, told.unique_identifier, told.registration_id, row.passport_version_id, added)


async def _registered_version(pipeline: PipelineSession, tx: Tx, told: Registered) -> StoredVersion:
    """The version whose public view has the hash that the proof names."""
    wanted = {"tenant_id": pipeline.tenant_id, "unique_identifier": told.unique_identifier}
    rows = all_of(await tx.query("registry/versions", wanted), _Version)
    if not rows:
        message = f"{told.unique_identifier}: no signed passport of yours has this identifier"
        raise Permanent(Code.NOT_FOUND, message)
    for each in rows:
        version = await read_stored(tx, pipeline.tenant_id, each.passport_version_id)
        if public_view_hash(version) == told.passport_sha256:
            return version
    message = f"{told.unique_identifier}: the proof is of other bytes than every public view of this battery"
    raise Permanent(Code.VALIDATION_ERROR, f"{message}; nothing was recorded")
