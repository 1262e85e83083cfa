"""Passport versions: find them, have them compiled, bring them into force, revoke them."""

from collections.abc import Mapping
from datetime import date
from typing import TypeVar
from uuid import UUID

from bpc_worker.domain.event_chain import read_chain
from bpc_worker.domain.events import Happened
from bpc_worker.domain.lives import retire_predecessors
from bpc_worker.domain.records import CompiledVersion, Passport, PassportVersion, Snapshot
from bpc_worker.domain.signed_versions import check_signed
from bpc_worker.domain.states import PassportStatus, SnapshotStatus
from bpc_worker.handler_api import Tx
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.jobs.model import JobId, NewJob
from bpc_worker.pipeline.gate import pass_gate
from bpc_worker.pipeline.keys import registry
from bpc_worker.pipeline.rules import published_rules
from bpc_worker.pipeline.session import PipelineSession, check_reason, uuid_or_none
from bpc_worker.postgres.again import again
from bpc_worker.rows import all_of, one

Found = TypeVar("Found", "ListedVersion", "FoundPassport")


class ListedVersion(PassportVersion, frozen=True, kw_only=True):
    """With the battery it is about."""

    serial: str
    product: str


class FoundPassport(Passport, frozen=True):
    product: str


async def find_version(pipeline: PipelineSession, tx: Tx, wanted: str) -> ListedVersion:
    """By its id; by the id of its passport, or by a serial number, the newest."""
    rows = await tx.query("passports/find_versions", named(pipeline, wanted))
    return _only(all_of(rows, ListedVersion), "passport version")


async def find_passport(pipeline: PipelineSession, tx: Tx, wanted: str) -> FoundPassport:
    """By its id or by a serial number."""
    rows = await tx.query("passports/find_passports", named(pipeline, wanted))
    return _only(all_of(rows, FoundPassport), "passport")


def named(pipeline: PipelineSession, wanted: str) -> dict[str, object]:
    """The parameters of queries that find something by whatever people call it."""
    # What the database cannot hold is not in it.
    storable = not any(letter == "\0" or "\ud800" <= letter <= "\udfff" for letter in wanted)
    return {
        "tenant_id": pipeline.tenant_id,
        "id": uuid_or_none(wanted),
        "wanted": wanted if storable else None,
    }


def _only(found: list[Found], what: str) -> Found:
    """NOT_FOUND in the same words for what another tenant has and for what nobody has."""
    if not found:
        hint = "`bpc-worker passport list` shows them"
        raise Permanent(Code.NOT_FOUND, f"there is no such {what}; {hint}")
    if len(found) > 1:
        named = "; ".join(f"{each.passport_id} of {each.product}" for each in found)
        raise Permanent(Code.VALIDATION_ERROR, f"{len(found)} batteries have this serial number: {named}")
    return found[0]


async def list_versions(
    pipeline: PipelineSession,
    *,
    passport: str | None = None,
    status: str | None = None,
    limit: int | None = None,
) -> list[ListedVersion]:
    """Newest first."""
    async with pipeline.reading() as tx:
        of = None if passport is None else (await find_passport(pipeline, tx, passport)).passport_id
        params = {"tenant_id": pipeline.tenant_id, "passport_id": of, "status": status}
        rows = await tx.query("passports/list_versions", params | {"limit": limit})
        return all_of(rows, ListedVersion)


async def compile_version(
    pipeline: PipelineSession, passport: str, *, snapshot_id: UUID, rules: str, law_date: date
) -> JobId:
    """Queue the compilation of another version, which is then signed and drawn."""
    async with pipeline.transaction() as tx:
        found = await find_passport(pipeline, tx, passport)
        wanted = {"tenant_id": pipeline.tenant_id, "snapshot_id": snapshot_id}
        snapshot = one(await tx.query("snapshots/read", wanted), Snapshot, "snapshot")
        if snapshot.status != SnapshotStatus.SEALED:
            raise Permanent(Code.SNAPSHOT_NOT_READY, f"the snapshot is {snapshot.status}, not SEALED")
        version = await published_rules(pipeline, tx, rules)
        payload: dict[str, object] = {
            "passport_id": str(found.passport_id),
            "snapshot_id": str(snapshot_id),
            "rule_package_version_id": str(version.rule_package_version_id),
            "law_date": law_date.isoformat(),
        }
        return await tx.enqueue(NewJob(type="COMPILE_PASSPORT", payload=payload))


@again
async def activate(
    pipeline: PipelineSession, wanted: str, *, despite: str | None = None
) -> tuple[UUID, UUID | None]:
    """The version that is in force now, and the one that was until now. Activated again, nothing changes.

    `despite`: the reason of somebody who answers for what the law asks for and this version lacks.
    """
    async with pipeline.transaction() as tx:
        versions, version = await _hold(pipeline, tx, wanted)
        if version.status == PassportStatus.ACTIVE:
            return version.passport_version_id, None
        if version.status != PassportStatus.SIGNED:
            raise Permanent(Code.VALIDATION_ERROR, f"the passport version is {version.status}, not SIGNED")
        released = await pass_gate(pipeline, tx, await _checked(pipeline, tx, version), despite)
        if released is not None:  # told before, as the database asks for it
            await pipeline.record(tx, released)
        former = next((each for each in versions if each.status == PassportStatus.ACTIVE), None)
        happened = await retire_predecessors(tx, pipeline.tenant_id, version)
        if former is not None:
            await _move(pipeline, tx, former, PassportStatus.SUPERSEDED)
            by = {"superseded_by": str(version.passport_version_id)}
            happened.append(_happened("PASSPORT_SUPERSEDED", former, by))
        await _move(pipeline, tx, version, PassportStatus.ACTIVE)
        of = {"supersedes": None if former is None else str(former.passport_version_id)}
        happened.append(_happened("PASSPORT_ACTIVATED", version, of))
        await pipeline.record(tx, *happened)
        return version.passport_version_id, None if former is None else former.passport_version_id


@again
async def revoke(pipeline: PipelineSession, wanted: str, reason: str) -> tuple[UUID, bool]:
    """The version that is revoked, and whether it was not before. The reason stands in the audit trail."""
    check_reason(reason)
    async with pipeline.transaction() as tx:
        versions, version = await _hold(pipeline, tx, wanted)
        if len(versions) > 1 and wanted.lower() != str(version.passport_version_id):
            listed = ", ".join(f"{each.passport_version_id} ({each.status})" for each in versions)
            raise Permanent(Code.VALIDATION_ERROR, f"it has several versions, say which: {listed}")
        if version.status == PassportStatus.REVOKED:
            return version.passport_version_id, False
        if version.status == PassportStatus.COMPILING:
            raise Permanent(
                Code.VALIDATION_ERROR, f"the passport version is {version.status}: not signed yet"
            )
        await _move(pipeline, tx, version, PassportStatus.REVOKED)
        why = {"reason": reason, "former_status": version.status}
        await pipeline.record(tx, _happened("PASSPORT_REVOKED", version, why))
        return version.passport_version_id, True


async def _hold(
    pipeline: PipelineSession, tx: Tx, wanted: str
) -> tuple[list[PassportVersion], PassportVersion]:
    """All versions of the passport, held until the transaction ends, and the one that is meant."""
    found = await find_version(pipeline, tx, wanted)
    params = {"tenant_id": pipeline.tenant_id, "passport_id": found.passport_id}
    versions = all_of(await tx.query("passports/lock_versions", params), PassportVersion)
    [held] = [each for each in versions if each.passport_version_id == found.passport_version_id]
    return versions, held


async def _checked(pipeline: PipelineSession, tx: Tx, version: PassportVersion) -> CompiledVersion:
    """The whole row. What nobody can verify, and what nobody compared, does not come into force."""
    wanted = {"tenant_id": pipeline.tenant_id, "passport_version_id": version.passport_version_id}
    row = one(await tx.query("passports/read_compiled", wanted), CompiledVersion, "passport version")
    chain = await read_chain(tx, pipeline.tenant_id, "passport", version.passport_id)
    check_signed(row, await registry(pipeline, tx), chain)
    return row


async def _move(pipeline: PipelineSession, tx: Tx, version: PassportVersion, status: PassportStatus) -> None:
    params = {"tenant_id": pipeline.tenant_id, "passport_version_id": version.passport_version_id}
    await tx.query("passports/set_status", params | {"status": status})


def _happened(event_type: str, version: PassportVersion, more: Mapping[str, object]) -> Happened:
    about: dict[str, object] = {
        "passport_version_id": str(version.passport_version_id),
        "receipt_hash": version.receipt_hash.hex(),
    }
    return Happened(
        event_type=event_type,
        aggregate_type="passport",
        aggregate_id=version.passport_id,
        payload=about | dict(more),
    )
