"""RETENTION_SWEEP: remove what is past its retention, a page at a time; an ACTIVE passport never."""

from datetime import UTC, datetime
from uuid import UUID

import msgspec

from bpc_worker.core.base import forms
from bpc_worker.domain.events import Happened, tell
from bpc_worker.handler_api import Code, Context, HandlerSpec, NewJob, Payload, Permanent, Priority, Tx
from bpc_worker.rows import one

_MOST_PAGES = 100  # looked at by one job; the first that has something to remove is its last
# In this order: a build that is gone lets go of its snapshot, that of its documents, those of their bytes.
# With the kind and the rows of a page: others wait while documents go.
_STEPS = {
    "builds": ("drafts", 1000),
    "unsigned": ("drafts", 1000),
    "snapshots": ("drafts", 1000),
    "documents": ("documents", 100),
    "blobs": ("documents", 1000),
    "deliveries": ("deliveries", 1000),
    "passports": ("passports", 1000),
}


class RetentionSweep(Payload, frozen=True):
    """Empty; a follow-up says where the page before it ended."""

    step: str = "builds"
    after: UUID | None = None

    def __post_init__(self) -> None:
        if self.step not in _STEPS:
            raise ValueError(f"step is one of {', '.join(_STEPS)}")


class Swept(msgspec.Struct, frozen=True):
    cut_off: datetime
    removed: dict[str, int]
    last_id: UUID | None
    at_the_end: bool


async def handle(payload: RetentionSweep, ctx: Context) -> None:
    if not any(ctx.policy.retention_days.values()):
        raise Permanent(
            Code.CONFIG_MISSING,
            "everything is kept: set retention.days (BPC_RETENTION_DAYS), for example "
            '{"drafts": 90, "documents": 365}, where workers run',
        )
    await ctx.complete(lambda tx: _sweep(tx, payload, ctx))


async def _sweep(tx: Tx, payload: RetentionSweep, ctx: Context) -> None:
    """One transaction: what goes, what is told of it, and the job that goes on where this one stops."""
    removed: dict[str, int] = {}
    cut_offs: dict[str, str] = {}
    steps, after = list(_STEPS), payload.after
    for step in steps[steps.index(payload.step) :]:
        kind, page = _STEPS[step]
        kept_days = ctx.policy.retention_days.get(kind, 0)
        if not kept_days:
            continue
        swept = await _pages(tx, step, {"kept_days": kept_days, "page": page}, after)
        cut_offs[kind] = forms.timestamp(swept.cut_off.astimezone(UTC))
        for what, count in swept.removed.items():
            removed[what] = removed.get(what, 0) + count
        if not swept.at_the_end:
            await tx.enqueue(
                NewJob(type="RETENTION_SWEEP", payload={"step": step, "after": str(swept.last_id)})
            )
            break
        after = None
    if any(removed.values()):
        await _tell(tx, ctx, removed, cut_offs)


async def _pages(tx: Tx, step: str, params: dict[str, object], after: UUID | None) -> Swept:
    """Up to the first page from which something goes."""
    swept = await _page(tx, step, params, after)
    for _ in range(_MOST_PAGES - 1):
        if swept.at_the_end or any(swept.removed.values()):
            break
        swept = await _page(tx, step, params, swept.last_id)
    return swept


async def _page(tx: Tx, step: str, params: dict[str, object], after: UUID | None) -> Swept:
    return one(await tx.query("retention/sweep", params | {"step": step, "after": after}), Swept, "page")


async def _tell(tx: Tx, ctx: Context, removed: dict[str, int], cut_offs: dict[str, str]) -> None:
    happened = Happened(
        event_type="RETENTION_APPLIED",
        aggregate_type="tenant",
        aggregate_id=ctx.job.tenant_id,
        payload={"removed": removed, "cut_offs": cut_offs},
    )
    await tell(tx, ctx.job, happened)


SPEC = HandlerSpec(
    job_type="RETENTION_SWEEP", payload=RetentionSweep, handle=handle, priority=Priority.CRITICAL
)
