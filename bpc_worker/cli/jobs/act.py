"""The commands that change jobs: retry, cancel, replay, prune."""

from typing import TYPE_CHECKING

import click

from bpc_worker.cli._common.options import config_option, job_ids_from
from bpc_worker.cli._common.output import EXIT_FAILED, EXIT_NOT_FOUND, counted, tell
from bpc_worker.cli._common.sessions import as_operator
from bpc_worker.cli.jobs import jobs

if TYPE_CHECKING:  # heavy: imported where a command needs it, so that --help is quick
    from collections.abc import Awaitable, Callable, Sequence
    from uuid import UUID

    from bpc_worker.operator.session import Operator


@jobs.command("retry")
@click.argument("job_ids", metavar="ID...", nargs=-1, required=True)
@config_option
def jobs_retry(job_ids: tuple[str, ...], config_path: str | None) -> None:
    r"""Run dead letters or failed jobs again at once, attempts from zero.

    \b
    Example: bpc-worker jobs retry 0192f0c1-7a5e-7c3b-9c1d-2f4b6a8c0e13
    """
    from bpc_worker.operator import acts

    each_of(job_ids, acts.retry, config_path, becomes="QUEUED")


@jobs.command("cancel")
@click.argument("job_ids", metavar="ID...", nargs=-1, required=True)
@config_option
def jobs_cancel(job_ids: tuple[str, ...], config_path: str | None) -> None:
    r"""Cancel jobs: a queued one now, a running one within about a second.

    \b
    Example: bpc-worker jobs cancel 0192f0c1-7a5e-7c3b-9c1d-2f4b6a8c0e13
    """
    from bpc_worker.jobs.errors import Code, Permanent
    from bpc_worker.operator import acts

    async def cancel(op: "Operator", job_id: "UUID") -> str:
        status = await acts.cancel(op, job_id)
        if status in {"CANCELLED", "RUNNING"}:
            return f"{job_id}  {'CANCELLED' if status == 'CANCELLED' else 'RUNNING, asked to stop'}"
        hint = "; give it up with `bpc-worker dead discard`" if status in {"FAILED", "DEAD_LETTER"} else ""
        raise Permanent(Code.FORBIDDEN, f"job {job_id} has ended already: it is {status}{hint}")

    each_of(job_ids, cancel, config_path)


@jobs.command("replay")
@click.argument("job_id", metavar="ID")
@config_option
def jobs_replay(job_id: str, config_path: str | None) -> None:
    r"""Do the work of a job that has ended once more, as a new job, and print its id.

    Same type, payload, tenant, queue and priority; no idempotency key; the old job is its parent.

    \b
    Example: bpc-worker jobs replay 0192f0c1-7a5e-7c3b-9c1d-2f4b6a8c0e13
    """
    from bpc_worker.operator import acts

    each_of([job_id], acts.replay, config_path)


def each_of(
    given: "Sequence[str]",
    act: "Callable[[Operator, UUID], Awaitable[object]]",
    config_path: str | None,
    *,
    becomes: str = "",
) -> None:
    """Do it to each and print what comes of it; one that is refused does not stop the others."""
    from bpc_worker.jobs.errors import Code, Permanent

    wanted = job_ids_from(given)

    async def act_on_all(op: "Operator") -> list[Permanent]:
        refused = []
        for job_id in wanted:
            try:
                click.echo(await act(op, job_id) or f"{job_id}  {becomes}")
            except Permanent as error:
                refused.append(error)
        if len(refused) < len(wanted):
            await op.wake_workers()
        return refused

    refused = as_operator(config_path, act_on_all, acts=True)
    tell(*(error.message for error in refused))
    if refused:
        missing = all(error.code == Code.NOT_FOUND for error in refused)
        raise SystemExit(EXIT_NOT_FOUND if missing else EXIT_FAILED)


@jobs.command("prune")
@config_option
def prune(config_path: str | None) -> None:
    r"""Remove finished jobs older than `jobs.retention_days`, with their events.

    Workers do the same by themselves, a page at a time. By hand nothing goes that is younger than 30 days.
    Dead letters, failed jobs and whatever somebody has done by hand always stay.

    \b
    Example: BPC_JOBS_RETENTION_DAYS=90 bpc-worker jobs prune
    """
    from bpc_worker.operator import prune as removal

    done = as_operator(config_path, removal.prune, acts=True)
    tell(f"{counted(done.removed_jobs, 'job')} and {counted(done.removed_events, 'event')} removed")
