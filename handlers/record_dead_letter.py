"""RECORD_DEAD_LETTER: what died, when and of what, in the audit trail of its tenant."""

from uuid import UUID

import msgspec

from bpc_worker.domain.events import Happened, tell
from bpc_worker.handler_api import Code, Context, HandlerSpec, Payload, Permanent, Tx
from bpc_worker.rows import all_of


class RecordDeadLetter(Payload, frozen=True):
    job_id: UUID


class Death(msgspec.Struct, frozen=True):
    """One time at which the job became a dead letter; without `died_at`, it never did."""

    type: str
    status: str
    died_at: str | None
    attempt: int | None
    code: str | None
    recorded: bool


async def handle(payload: RecordDeadLetter, ctx: Context) -> None:
    wanted = {"tenant_id": ctx.job.tenant_id, "job_id": payload.job_id}
    deaths = all_of(await ctx.read("jobs/deaths", wanted), Death)
    if not deaths:
        raise Permanent(Code.NOT_FOUND, "there is no such job")
    if deaths[0].died_at is None:
        raise Permanent(Code.VALIDATION_ERROR, f"the job is {deaths[0].status} and never was a dead letter")
    await ctx.complete(lambda tx: _write(tx, payload, ctx))


async def _write(tx: Tx, payload: RecordDeadLetter, ctx: Context) -> None:
    """All deaths that are not told yet: who retried the job meanwhile has not undone what happened."""
    chain = {"aggregate_type": "job", "aggregate_id": payload.job_id}
    await tx.query("events/lock_head", chain)  # first: nobody else tells the same death now
    wanted = {"tenant_id": ctx.job.tenant_id, "job_id": payload.job_id}
    deaths = all_of(await tx.query("jobs/deaths", wanted), Death)
    happened = [_happened(payload.job_id, death) for death in deaths if death.died_at and not death.recorded]
    await tell(tx, ctx.job, *happened)


def _happened(job_id: UUID, death: Death) -> Happened:
    return Happened(
        event_type="JOB_DEAD_LETTERED",
        aggregate_type="job",
        aggregate_id=job_id,
        payload={
            "job_type": death.type,
            "died_at": death.died_at,
            "attempt": death.attempt,
            "code": death.code,
        },
    )


SPEC = HandlerSpec(job_type="RECORD_DEAD_LETTER", payload=RecordDeadLetter, handle=handle)
