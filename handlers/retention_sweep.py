"""RETENTION_SWEEP: remove what is past its retention, a page at a time; an ACTIVE passport never."""

from datetime import UTC, datetime
from uuid import UUID

import msgspec

from bpc_worker.core import forms
from bpc_worker.evidence import Happened, record
from bpc_worker.handler_api import Code, Context, HandlerSpec, NewJob, Payload, Permanent, Priority, Tx
from bpc_worker.rows import one

_PAGE = 1000  # rows looked at in one go
# In this order: a build that is gone lets go of its snapshot, and that of its documents. Step and its kind.
_STEPS = {
    "builds": "drafts",
    "unsigned": "drafts",
    "snapshots": "drafts",
    "documents": "documents",
    "deliveries": "deliveries",
    "passports": "passports",
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
        kept_days = ctx.policy.retention_days.get(_STEPS[step], 0)
        if not kept_days:
            continue
        params = {"kept_days": kept_days, "after": after, "page": _PAGE}
        swept = one(await tx.query(f"retention/{step}", params), Swept, "page")
        cut_offs[_STEPS[step]] = forms.timestamp(swept.cut_off.astimezone(UTC))
        for what, count in swept.removed.items():
            removed[what] = removed.get(what, 0) + count
        if not swept.at_the_end:
            follow_up = {"step": step, "after": None if swept.last_id is None else str(swept.last_id)}
            await tx.enqueue(NewJob(type="RETENTION_SWEEP", payload=follow_up))
            break
        after = None
    if any(removed.values()):
        await _tell(tx, ctx, removed, cut_offs)


async def _tell(tx: Tx, ctx: Context, removed: dict[str, int], cut_offs: dict[str, str]) -> None:
    happened = Happened(
        event_type="RETENTION_APPLIED",
        aggregate_type="tenant",
        aggregate_id=ctx.job.tenant_id,
        payload={"removed": removed, "cut_offs": cut_offs},
    )
    await record(tx, happened, tenant_id=ctx.job.tenant_id, actor_id=f"job:{ctx.job.job_id}")


SPEC = HandlerSpec(
    job_type="RETENTION_SWEEP", payload=RetentionSweep, handle=handle, priority=Priority.CRITICAL
)
