"""SEAL_ITEMS: batteries of one product get snapshots of what is known of them now, and versions if wanted."""

from datetime import date
from uuid import UUID

from bpc_worker.core.passport.snapshot import SealedSnapshot
from bpc_worker.domain import items
from bpc_worker.domain.events import Happened, tell
from bpc_worker.domain.identity import keep
from bpc_worker.domain.items import Item, Items
from bpc_worker.domain.records import RulesText
from bpc_worker.handler_api import Context, HandlerSpec, NewJob, Payload, Tx
from bpc_worker.rows import one

MOST = 1_000  # of one job: its transaction is short


class SealItems(Payload, frozen=True):
    battery_product_id: UUID
    passport_ids: list[UUID]
    rule_package_version_id: UUID | None = None  # with law_date: each is compiled with these rules
    law_date: date | None = None

    def __post_init__(self) -> None:
        if not 0 < len(self.passport_ids) <= MOST:
            raise ValueError(f"passport_ids: 1 to {MOST} of them")
        if (self.rule_package_version_id is None) != (self.law_date is None):
            raise ValueError("rule_package_version_id and law_date go together")


async def handle(payload: SealItems, ctx: Context) -> None:
    if payload.rule_package_version_id is not None:  # told once, rather than by every compilation
        wanted = {
            "tenant_id": ctx.job.tenant_id,
            "rule_package_version_id": payload.rule_package_version_id,
        }
        one(await ctx.read("rules/read", wanted), RulesText, "version of a rule package")
    await ctx.complete(lambda tx: _write(tx, payload, ctx), result={"items": len(payload.passport_ids)})


async def _write(tx: Tx, payload: SealItems, ctx: Context) -> None:
    tenant_id = ctx.job.tenant_id
    found = await items.read_items(tx, tenant_id, payload.battery_product_id, payload.passport_ids)
    changed = [each for each in found.items if not each.is_sealed(found.model)]
    snapshots = {each.passport_id: each.newest.snapshot_id for each in found.items if each.newest is not None}
    if changed:
        snapshots |= await _seal(tx, ctx, found, changed)
    for passport_id, snapshot_id in sorted(snapshots.items()):
        if payload.rule_package_version_id is not None:
            await tx.enqueue(_compile(payload, passport_id, snapshot_id))


async def _seal(tx: Tx, ctx: Context, found: Items, changed: list[Item]) -> dict[UUID, UUID]:
    tenant_id, model = ctx.job.tenant_id, found.model
    await keep(tx, tenant_id, found.copied)
    added = await items.add_snapshots(tx, tenant_id, [each.passport_id for each in changed], model)
    sealed = [
        each.sealed(added[each.passport_id], ctx.snapshot_salt(added[each.passport_id]), model)
        for each in changed
    ]
    await items.close_snapshots(tx, tenant_id, sealed)
    await tell(tx, ctx.job, *map(_sealed, sealed))
    return added


def _sealed(snapshot: SealedSnapshot) -> Happened:
    return Happened(
        event_type="SNAPSHOT_SEALED",
        aggregate_type="snapshot",
        aggregate_id=snapshot.snapshot_id,
        payload={"snapshot_hash": snapshot.snapshot_hash.hex(), "facts": len(snapshot.facts)},
    )


def _compile(payload: SealItems, passport_id: UUID, snapshot_id: UUID) -> NewJob:
    """Once for the same inputs, however often it is asked for."""
    return NewJob(
        type="COMPILE_PASSPORT",
        payload={
            "passport_id": str(passport_id),
            "snapshot_id": str(snapshot_id),
            "rule_package_version_id": str(payload.rule_package_version_id),
            "law_date": str(payload.law_date),
        },
        idempotency_key=f"{snapshot_id} {payload.rule_package_version_id} {payload.law_date}",
    )


SPEC = HandlerSpec(job_type="SEAL_ITEMS", payload=SealItems, handle=handle)
