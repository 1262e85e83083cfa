"""BUILD_SNAPSHOT: the facts of a snapshot are complete, or sealed under one hash for ever."""

from uuid import UUID

import msgspec

from bpc_worker.core.passport.snapshot import FactRef, SealedSnapshot, SnapshotError, seal
from bpc_worker.domain import builds
from bpc_worker.domain.events import Happened, record
from bpc_worker.handler_api import Code, Context, HandlerSpec, NewJob, Payload, Permanent, Tx
from bpc_worker.rows import all_of, one


class BuildSnapshot(Payload, frozen=True):
    snapshot_id: UUID
    seal: bool = True
    build_id: UUID | None = None


class Snapshot(msgspec.Struct, frozen=True):
    snapshot_id: UUID
    status: str
    canonical: bytes | None
    snapshot_hash: bytes | None


class Item(msgspec.Struct, frozen=True):
    fact_type: str
    fact_key: str
    payload_hash: bytes


async def handle(payload: BuildSnapshot, ctx: Context) -> None:
    params = {"tenant_id": ctx.job.tenant_id, "snapshot_id": payload.snapshot_id}
    async with ctx.reading() as reading:
        one(await reading.query("snapshots/read", params), Snapshot, "snapshot")
        items = all_of(await reading.query("snapshots/items", params), Item)
    try:
        sealed = _sealed(payload.snapshot_id, items)
    except SnapshotError as error:
        refused = Permanent(Code.VALIDATION_ERROR, str(error))
        await builds.give_up(ctx, payload.build_id, refused, lambda build: _comes_next(build, payload))
    await ctx.complete(
        lambda tx: _close(tx, payload, ctx, sealed),
        result={"facts": len(sealed.facts), "snapshot_hash": sealed.snapshot_hash.hex()},
    )


def _sealed(snapshot_id: UUID, items: list[Item]) -> SealedSnapshot:
    if not items:
        raise SnapshotError("", "the snapshot has no facts: add documents that have some")
    return seal(snapshot_id, [FactRef(item.fact_type, item.fact_key, item.payload_hash) for item in items])


def _comes_next(build: builds.Build, payload: BuildSnapshot) -> bool:
    return builds.waits_for(build, "SNAPSHOT", snapshot_id=payload.snapshot_id)


async def _close(tx: Tx, payload: BuildSnapshot, ctx: Context, sealed: SealedSnapshot) -> None:
    params = {"tenant_id": ctx.job.tenant_id, "snapshot_id": payload.snapshot_id}
    build = await builds.hold(tx, payload.build_id, ctx.job.tenant_id)
    found = one(await tx.query("snapshots/lock", params), Snapshot, "snapshot")
    if found.status == "BUILDING" or (found.status == "READY" and payload.seal):
        items = all_of(await tx.query("snapshots/items", params), Item)  # none is added while the row is held
        await _write(tx, payload, ctx, _sealed(payload.snapshot_id, items))
    elif found.status == "SEALED" and found.snapshot_hash != sealed.snapshot_hash:
        raise Permanent(Code.SNAPSHOT_SEALED, "the snapshot is sealed with other facts")
    if build is not None and _comes_next(build, payload):
        await builds.move(tx, build, "COMPILE")
        await tx.enqueue(_compile(build, payload.snapshot_id))


async def _write(tx: Tx, payload: BuildSnapshot, ctx: Context, sealed: SealedSnapshot) -> None:
    params: dict[str, object] = {"tenant_id": ctx.job.tenant_id, "snapshot_id": payload.snapshot_id}
    if not payload.seal:
        await tx.query(
            "snapshots/close", params | {"status": "READY", "canonical": None, "snapshot_hash": None}
        )
        return
    made = {"canonical": sealed.canonical, "snapshot_hash": sealed.snapshot_hash}
    await tx.query("snapshots/close", params | {"status": "SEALED"} | made)
    happened = Happened(
        event_type="SNAPSHOT_SEALED",
        aggregate_type="snapshot",
        aggregate_id=payload.snapshot_id,
        payload={"snapshot_hash": sealed.snapshot_hash.hex(), "facts": len(sealed.facts)},
    )
    await record(tx, happened, tenant_id=ctx.job.tenant_id, actor_id=f"job:{ctx.job.job_id}")


def _compile(build: builds.Build, snapshot_id: UUID) -> NewJob:
    return NewJob(
        type="COMPILE_PASSPORT",
        payload={
            "passport_id": str(build.passport_id),
            "snapshot_id": str(snapshot_id),
            "rule_package_version_id": str(build.rule_package_version_id),
            "law_date": build.law_date.isoformat(),
            "build_id": str(build.build_id),
        },
        idempotency_key=f"{build.build_id} {snapshot_id}",
    )


SPEC = HandlerSpec(job_type="BUILD_SNAPSHOT", payload=BuildSnapshot, handle=handle)
