"""The commands that look at jobs: list, show, explain, wait."""

from typing import TYPE_CHECKING

import click

from bpc_worker.cli._common.options import (
    age_options,
    config_option,
    job_id_from,
    job_ids_from,
    json_option,
    limit_option,
    one_tenant_option,
    timeout_option,
)
from bpc_worker.cli._common.output import (
    EXIT_FAILED,
    EXIT_USAGE,
    fail,
    fields_of,
    json_line,
    plain,
    printable,
    show_fields,
    show_list,
    tell,
)
from bpc_worker.cli._common.sessions import as_operator, collected
from bpc_worker.cli.jobs import jobs

if TYPE_CHECKING:  # heavy: imported where a command needs it, so that --help is quick
    from collections.abc import Sequence

    from bpc_worker.operator.jobs import JobLine, Reason, Story
    from bpc_worker.postgres.queue.job_states import JobState

_STATUSES = ("QUEUED", "RUNNING", "SUCCEEDED", "FAILED", "CANCELLED", "DEAD_LETTER")
_SHOWN = 2000  # characters of a payload or a result; --json has all of it


@jobs.command("list")
@click.option(
    "--status", "statuses", multiple=True, type=click.Choice(_STATUSES, case_sensitive=False),
    help="Only this one; may be given several times.",
)  # fmt: skip
@click.option("--type", "job_type", help="Only this type.")
@click.option("--queue", help="Only of this queue.")
@click.option("--code", help="Only with this code of the last failure.")
@click.option(
    "--spec-hash", help="Only the same work: 64 hexadecimal digits. Quick for DEAD_LETTER and FAILED."
)
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
    older_seconds: float | None,
    newer_seconds: float | None,
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
        spec_hash=spec_hash_from(spec_hash), older_seconds=older_seconds, newer_seconds=newer_seconds,
    )  # fmt: skip
    behind = None if after is None else job_id_from(after)
    found = as_operator(config_path, lambda op: collected(list_jobs(op, wanted, limit=limit, after=behind)))
    show_jobs(found, as_json=as_json, nothing="no such jobs")
    if len(found) == limit:
        tell(f"there may be more: go on with --after {found[-1].job_id}, or say --limit")


def spec_hash_from(text: str | None) -> bytes | None:
    if text is None:
        return None
    try:
        found = bytes.fromhex(text)
    except ValueError:
        found = b""
    if len(found) != 32:  # noqa: PLR2004 - SHA-256
        hint = "`bpc-worker jobs show ID` prints the one of a job"
        fail(EXIT_USAGE, f"--spec-hash {printable(text)}: that is not 64 hexadecimal digits", hint)
    return found


def show_jobs(found: "Sequence[JobLine]", *, as_json: bool, nothing: str) -> None:
    titles = ("job", "status", "type", "queue", "tenant", "tried", "changed", "last failure")
    show_list(found, _line, as_json=as_json, encode=json_line, titles=titles, nothing=nothing)


def _line(each: "JobLine") -> list[object]:
    trouble = None if each.fail_code is None else f"{each.fail_code}: {each.message or ''}"[:80]
    tried = f"{each.attempts}/{each.max_attempts}"
    when = each.finished_at or each.started_at or each.scheduled_at
    return [each.job_id, each.status, each.type, each.queue, each.tenant, tried, when, trouble]


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

    wanted = job_id_from(job_id)
    found = as_operator(config_path, lambda op: story(op, wanted))
    if as_json:
        click.echo(json_line(found.job, events=found.events, children=found.children, reasons=found.reasons))
    else:
        _tell_story(found)


def _tell_story(found: "Story") -> None:
    row = fields_of(found.job, *found.job.__struct_fields__)
    show_fields((name, _cut(value)) for name, value in row if value is not None)
    click.echo()
    _show_reasons(found.reasons)
    if found.children:
        click.echo("\nchildren")
        show_list(found.children, lambda each: ["", each.job_id, each.type, each.status])
    if found.events:
        click.echo("\nevents")
        show_list(found.events, lambda each: ["", each.at, each.type, _cut(each.data)])


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

    wanted = job_id_from(job_id)
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
@timeout_option
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
