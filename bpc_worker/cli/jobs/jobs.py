"""The commands about jobs: list, show, explain, wait; retry, cancel, replay."""

from typing import TYPE_CHECKING
from uuid import UUID

import click

from bpc_worker.cli._common.operator import (
    STATUSES,
    age_options,
    as_operator,
    collected,
    job_ids_from,
    json_line,
    one_tenant_option,
    show_jobs,
    spec_hash_from,
)
from bpc_worker.cli._common.parts import EXIT_FAILED, EXIT_NOT_FOUND, Group, printable
from bpc_worker.cli._common.session import (
    config_option,
    json_option,
    limit_option,
    plain,
    show_fields,
    show_lines,
    tell,
)
from bpc_worker.cli.jobs.prune import prune

if TYPE_CHECKING:  # heavy: imported where a command needs it, so that --help is quick
    from collections.abc import Awaitable, Callable

    from bpc_worker.operator.jobs import Event, Reason, Story
    from bpc_worker.operator.session import Operator
    from bpc_worker.postgres.queue.job_states import JobState

_SHOWN = 2000  # characters of a payload or a result; --json has all of it


@click.group(cls=Group)
def jobs() -> None:
    """Jobs of all tenants: what they are, why one does not run, retry, cancel, replay."""


jobs.add_command(prune)


@jobs.command("list")
@click.option(
    "--status", "statuses", multiple=True, type=click.Choice(STATUSES, case_sensitive=False),
    help="Only this one; may be given several times.",
)  # fmt: skip
@click.option("--type", "job_type", help="Only this type.")
@click.option("--queue", help="Only of this queue.")
@click.option("--code", help="Only with this code of the last failure.")
@click.option("--spec-hash", help="Only the same work: 64 hexadecimal digits.")
@click.option("--after", metavar="ID", help="Go on behind this one, the last of an earlier list.")
@age_options("Queued")
@one_tenant_option
@limit_option
@json_option("One JSON object per job.")
@config_option
def jobs_list(  # noqa: PLR0913 - one argument per option
    *,
    statuses: tuple[str, ...],
    job_type: str | None,
    queue: str | None,
    code: str | None,
    spec_hash: str | None,
    after: str | None,
    older: float | None,
    newer: float | None,
    tenant: str | None,
    limit: int,
    as_json: bool,
    config_path: str | None,
) -> None:
    r"""List jobs, the newest first: id, status, type, queue, tenant, attempts, last change, last failure.

    \b
    Example: bpc-worker jobs list --status QUEUED --status RUNNING --newer 1h
    """
    from bpc_worker.operator.jobs import JobFilter, list_jobs

    wanted = JobFilter(
        statuses=statuses or None, type=job_type, queue=queue, tenant=tenant, code=code,
        spec_hash=spec_hash_from(spec_hash), older_seconds=older, newer_seconds=newer,
    )  # fmt: skip
    behind = None if after is None else job_ids_from([after])[0]
    found = as_operator(config_path, lambda op: collected(list_jobs(op, wanted, limit=limit, after=behind)))
    show_jobs(found, as_json=as_json)
    if not found:
        tell("no such jobs")
    elif len(found) == limit:
        tell(f"there may be more: go on with --after {found[-1].job_id}, or say --limit")


@jobs.command("show")
@click.argument("job_id", metavar="ID")
@json_option("One JSON object.")
@config_option
def jobs_show(job_id: str, *, as_json: bool, config_path: str | None) -> None:
    r"""Everything about one job: the row, what happened to it, how it stands, what came out of it.

    \b
    Example: bpc-worker jobs show 0192f0c1-7a5e-7c3b-9c1d-2f4b6a8c0e13
    """
    show_job(job_id, as_json=as_json, config_path=config_path)


def show_job(job_id: str, *, as_json: bool, config_path: str | None) -> None:
    from bpc_worker.operator.jobs import story

    [wanted] = job_ids_from([job_id])
    found = as_operator(config_path, lambda op: story(op, wanted))
    if as_json:
        click.echo(json_line(found.job, events=found.events, children=found.children, reasons=found.reasons))
    else:
        _tell_story(found)


def _tell_story(found: "Story") -> None:
    row = [(name, getattr(found.job, name)) for name in found.job.__struct_fields__]
    show_fields((name, _cut(value)) for name, value in row if value is not None)
    click.echo()
    _show_reasons(found.reasons)
    if found.children:
        click.echo("\nchildren")
        show_lines(found.children, lambda each: ["", each.job_id, each.type, each.status], as_json=False)
    if found.events:
        click.echo("\nevents")

        def line(each: "Event") -> list[object]:
            return ["", each.at, each.type, _cut(each.data)]

        show_lines(found.events, line, as_json=False)


def _cut(value: object) -> object:
    if isinstance(value, str) and len(value) > _SHOWN:
        return f"{value[:_SHOWN]}… ({len(value)} characters; all of it with --json)"
    return value


@jobs.command("explain")
@click.argument("job_id", metavar="ID")
@json_option("One JSON object per reason.")
@config_option
def jobs_explain(job_id: str, *, as_json: bool, config_path: str | None) -> None:
    r"""Say why a job does not run, and what to do about it; every reason that holds.

    \b
    Example: bpc-worker jobs explain 0192f0c1-7a5e-7c3b-9c1d-2f4b6a8c0e13
    """
    from bpc_worker.operator.jobs import explain

    [wanted] = job_ids_from([job_id])
    reasons = as_operator(config_path, lambda op: explain(op, wanted))
    if as_json:
        for each in reasons:
            click.echo(json_line(each))
    else:
        _show_reasons(reasons)


def _show_reasons(reasons: "list[Reason]") -> None:
    for each in reasons:
        until = "" if each.until is None else f" (until {_to_the_second(each.until)})"
        if until and _to_the_second(each.until) in each.message:
            until = ""  # it says so itself
        click.echo(f"{click.style(each.reason, bold=True)}: {printable(each.message)}{until}")
        click.echo(f"  {printable(each.remedy)}")


def _to_the_second(moment: object) -> str:
    """As the database's messages have it."""
    return f"{str(plain(moment))[:19]}Z"


@jobs.command("wait")
@click.argument("job_ids", metavar="ID...", nargs=-1, required=True)
@click.option(
    "--timeout", type=click.FloatRange(0, 86_400), default=300.0, show_default=True,
    help="Seconds to wait at most.",
)  # fmt: skip
@json_option("One JSON object per job that has ended.")
@config_option
def jobs_wait(job_ids: tuple[str, ...], *, timeout: float, as_json: bool, config_path: str | None) -> None:
    r"""Wait until jobs have ended; exit code 0 when all have succeeded, else 1.

    \b
    Example: bpc-worker jobs wait 0192f0c1-7a5e-7c3b-9c1d-2f4b6a8c0e13 --timeout 60
    """
    from bpc_worker.operator.jobs import wait_for_jobs
    from bpc_worker.pipeline.jobs import how_it_stands

    bad: list[JobState] = []

    def ended(state: "JobState") -> None:
        click.echo(json_line(state) if as_json else f"{state.job_id}  {state.status}")
        if not state.succeeded:
            bad.append(state)

    wanted = job_ids_from(job_ids)
    left = as_operator(config_path, lambda op: wait_for_jobs(op, wanted, seconds=timeout, ended=ended))
    for state in (*bad, *left):
        tell(*how_it_stands(state))
    if bad or left:
        raise SystemExit(EXIT_FAILED)


@jobs.command("retry")
@click.argument("job_ids", metavar="ID...", nargs=-1, required=True)
@config_option
def jobs_retry(job_ids: tuple[str, ...], config_path: str | None) -> None:
    r"""Run dead letters or failed jobs again at once, attempts from zero.

    \b
    Example: bpc-worker jobs retry 0192f0c1-7a5e-7c3b-9c1d-2f4b6a8c0e13
    """
    from bpc_worker.operator import acts

    async def retry(op: "Operator", job_id: UUID) -> str:
        await acts.retry(op, job_id)
        return f"{job_id}  QUEUED"

    each_of(job_ids, retry, config_path)


@jobs.command("cancel")
@click.argument("job_ids", metavar="ID...", nargs=-1, required=True)
@config_option
def jobs_cancel(job_ids: tuple[str, ...], config_path: str | None) -> None:
    r"""Cancel jobs: a queued one now, a running one within one renewal of its lease.

    \b
    Example: bpc-worker jobs cancel 0192f0c1-7a5e-7c3b-9c1d-2f4b6a8c0e13
    """
    from bpc_worker.jobs.errors import Code, Permanent
    from bpc_worker.operator import acts

    async def cancel(op: "Operator", job_id: UUID) -> str:
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

    async def replay(op: "Operator", wanted: UUID) -> str:
        return str(await acts.replay(op, wanted))

    each_of([job_id], replay, config_path)


def each_of(
    given: "tuple[str, ...] | list[str]",
    act: "Callable[[Operator, UUID], Awaitable[str]]",
    config_path: str | None,
) -> None:
    """Do it to each; one that is refused does not stop the others."""
    from bpc_worker.jobs.errors import Code, Permanent

    wanted = job_ids_from(given)

    async def act_on_all(op: "Operator") -> list[Permanent]:
        refused = []
        for job_id in wanted:
            try:
                click.echo(await act(op, job_id))
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
