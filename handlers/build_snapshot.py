"""BUILD_SNAPSHOT: the facts of a snapshot are complete, or sealed under one hash for ever."""

from collections.abc import Sequence
from uuid import UUID

from bpc_worker.core.passport.snapshot import FactRef, SealedSnapshot, SnapshotError, open_snapshot, seal
from bpc_worker.domain import builds, identity
from bpc_worker.domain.events import Happened, tell
from bpc_worker.domain.records import Fact, Snapshot, SnapshotBytes
from bpc_worker.domain.states import BuildStatus, SnapshotStatus
from bpc_worker.handler_api import Code, Context, HandlerSpec, Payload, Permanent, Reading, Tx
from bpc_worker.rows import all_of, one


class BuildSnapshot(Payload, frozen=True):
    snapshot_id: UUID
    seal: bool = True
    passport_id: UUID | None = None  # what is known of it goes in, when sealed
    battery_product_id: UUID | None = None  # of a model: what is known of it goes in, and it is the product's
    build_id: UUID | None = None

    def __post_init__(self) -> None:
        about = [each for each in (self.passport_id, self.battery_product_id) if each is not None]
        if about and not self.seal:
            raise ValueError("passport_id goes with seal: what is known of it is copied in when it is sealed")
        if len(about) > 1:
            raise ValueError("give passport_id or battery_product_id: it is of a battery or of a model")


async def handle(payload: BuildSnapshot, ctx: Context) -> None:
    params = {"tenant_id": ctx.job.tenant_id, "snapshot_id": payload.snapshot_id}
    async with ctx.reading() as reading:
        found = one(await reading.query("snapshots/read", params), Snapshot, "snapshot")
        facts = all_of(await reading.query("snapshots/items", params), FactRef)
        about = identity.untold(await _about(payload, ctx, reading, found), facts)
    try:
        sealed = _sealed(payload.snapshot_id, facts, ctx, about)
    except SnapshotError as error:
        refused = Permanent(Code.VALIDATION_ERROR, str(error))
        await builds.give_up(ctx, payload.build_id, refused, BuildStatus.SNAPSHOT, payload.snapshot_id)
    await ctx.complete(
        lambda tx: _close(tx, payload, ctx, sealed, about),
        result={"facts": len(sealed.facts), "snapshot_hash": sealed.snapshot_hash.hex()},
    )


async def _about(payload: BuildSnapshot, ctx: Context, reading: Reading, found: Snapshot) -> list[Fact]:
    """What is known now of the battery, or of its model; nothing more goes into what is sealed."""
    if payload.passport_id is not None:
        facts = await identity.facts_about(reading, ctx.job.tenant_id, payload.passport_id)
    elif payload.battery_product_id is not None:
        facts = await identity.facts_about_model(reading, ctx.job.tenant_id, payload.battery_product_id)
    else:
        return []
    if found.status == SnapshotStatus.READY:
        raise Permanent(
            Code.SNAPSHOT_SEALED, "the snapshot is READY, nothing more goes into it; make another"
        )
    return [] if found.status == SnapshotStatus.SEALED else facts


def _sealed(
    snapshot_id: UUID, facts: list[FactRef], ctx: Context, about: Sequence[Fact] = ()
) -> SealedSnapshot:
    if not facts:
        raise SnapshotError("", "the snapshot has no facts: add documents that have some")
    return seal(snapshot_id, [*facts, *map(identity.reference, about)], ctx.snapshot_salt(snapshot_id))


async def _close(
    tx: Tx, payload: BuildSnapshot, ctx: Context, sealed: SealedSnapshot, about: Sequence[Fact]
) -> None:
    params: dict[str, object] = {"tenant_id": ctx.job.tenant_id, "snapshot_id": payload.snapshot_id}
    build = await builds.hold(tx, payload.build_id, ctx.job.tenant_id)
    found = one(await tx.query("snapshots/lock", params), Snapshot, "snapshot")
    if found.status == SnapshotStatus.BUILDING or (found.status == SnapshotStatus.READY and payload.seal):
        await identity.copy_in(tx, ctx.job.tenant_id, payload.snapshot_id, about)
        facts = all_of(await tx.query("snapshots/items", params), FactRef)  # none is added while it is held
        await _write(tx, payload, ctx, _sealed(payload.snapshot_id, facts, ctx))
    elif found.status == SnapshotStatus.SEALED and not await _holds(tx, params, sealed):
        raise Permanent(Code.SNAPSHOT_SEALED, "the snapshot is sealed with other facts")
    if payload.battery_product_id is not None:
        await tx.query("models/add", params | {"battery_product_id": payload.battery_product_id})
    if build is not None and builds.waits_for(build, BuildStatus.SNAPSHOT, payload.snapshot_id):
        await builds.finish(tx, build, BuildStatus.SNAPSHOT, payload.snapshot_id)
        await tx.enqueue(builds.compile_job(build, payload.snapshot_id))


async def _holds(tx: Tx, params: dict[str, object], sealed: SealedSnapshot) -> bool:
    """Whether what is sealed has these facts; the key of salts may have been another one then."""
    there = one(await tx.query("snapshots/read", params), SnapshotBytes, "snapshot")
    found = open_snapshot(there.canonical or b"", there.snapshot_hash or b"")
    return found.facts == sealed.facts


async def _write(tx: Tx, payload: BuildSnapshot, ctx: Context, sealed: SealedSnapshot) -> None:
    params: dict[str, object] = {"tenant_id": ctx.job.tenant_id, "snapshot_id": payload.snapshot_id}
    if not payload.seal:
        nothing = {"canonical": None, "snapshot_hash": None}
        await tx.query("snapshots/close", params | {"status": SnapshotStatus.READY} | nothing)
        return
    made = {"canonical": sealed.canonical, "snapshot_hash": sealed.snapshot_hash}
    await tx.query("snapshots/close", params | {"status": SnapshotStatus.SEALED} | made)
    happened = Happened(
        event_type="SNAPSHOT_SEALED",
        aggregate_type="snapshot",
        aggregate_id=payload.snapshot_id,
        payload={"snapshot_hash": sealed.snapshot_hash.hex(), "facts": len(sealed.facts)},
    )
    await tell(tx, ctx.job, happened)


SPEC = HandlerSpec(job_type="BUILD_SNAPSHOT", payload=BuildSnapshot, handle=handle)
