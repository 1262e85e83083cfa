"""The commands about dead letters: list, show, retry, discard, export."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from bpc_worker.cli._common.options import config_option, json_option, limit_option
from bpc_worker.cli._common.output import (
    EXIT_FAILED,
    EXIT_USAGE,
    counted,
    fail,
    json_line,
    printable,
    tell,
)
from bpc_worker.cli._common.sessions import as_operator, collected
from bpc_worker.cli.dead import dead
from bpc_worker.cli.dead.many import (
    act_options,
    check_named,
    do_many,
    filter_options,
    patch_many,
    show_kinds,
)
from bpc_worker.cli.jobs.act import each_of
from bpc_worker.cli.jobs.look import show_job, show_jobs

if TYPE_CHECKING:  # heavy: imported where a command needs it, so that --help is quick
    from bpc_worker.operator.acts import Patch
    from bpc_worker.operator.dead import Filters, Kind
    from bpc_worker.operator.jobs import JobLine
    from bpc_worker.operator.session import Operator


@dead.command("list")
@filter_options
@limit_option
@click.option("--count", "only_counted", is_flag=True, help="Only how many, by type and code.")
@json_option("One JSON object per dead letter, or per kind with --count.")
@config_option
def dead_list(
    *, limit: int, only_counted: bool, as_json: bool, config_path: str | None, **wanted: "Unpack[Filters]"
) -> None:
    r"""List dead letters, the newest first.

    \b
    Example: bpc-worker dead list --type RUN_COMMAND --code COMMAND_FAILED --newer 1d
    """
    from bpc_worker.operator import dead as letters

    if only_counted:

        async def kinds(op: "Operator") -> "list[Kind]":
            return await letters.count(op, await letters.choose(op, **wanted))

        show_kinds(as_operator(config_path, kinds), as_json=as_json)
        return

    async def chosen(op: "Operator") -> "list[JobLine]":
        return await collected(letters.lines(op, await letters.choose(op, **wanted), limit=limit))

    found = as_operator(config_path, chosen)
    show_jobs(found, as_json=as_json, nothing="no such dead letters")
    if len(found) == limit:
        tell(f"there may be more than these {limit}: say --limit, or --count")


@dead.command("show")
@click.argument("job_id", metavar="ID")
@json_option("One JSON object.")
@config_option
def dead_show(job_id: str, *, as_json: bool, config_path: str | None) -> None:
    r"""Everything about one: the row with its payload and error, and what happened to it.

    \b
    Example: bpc-worker dead show 0192f0c1-7a5e-7c3b-9c1d-2f4b6a8c0e13
    """
    show_job(job_id, as_json=as_json, config_path=config_path)


@dead.command("retry")
@act_options
@click.option(
    "--set", "patch_text", metavar="PATH=VALUE",
    help="Mend the payload first: a.b=VALUE, JSON or a plain word. The old one is kept in job_events.",
)  # fmt: skip
def dead_retry(
    job_ids: tuple[str, ...],
    *,
    everything: bool,
    yes: bool,
    patch_text: str | None,
    config_path: str | None,
    **wanted: "Unpack[Filters]",
) -> None:
    r"""Run dead letters again, named or by filter; attempts from zero.

    Without --yes it only counts. It works in pages while workers run; what dies again meanwhile is left
    alone. Stopped in the middle, the same command goes on with the rest.

    \b
    Example: bpc-worker dead retry --type RUN_COMMAND --code COMMAND_FAILED --yes
    Example: bpc-worker dead retry 0192f0c1-7a5e-7c3b-9c1d-2f4b6a8c0e13 --set command=hello --yes
    """
    from bpc_worker.operator import acts
    from bpc_worker.operator import dead as letters

    patch = None if patch_text is None else patch_from(patch_text)
    if job_ids:
        check_named(job_ids, wanted, everything=everything, yes=yes, verb="retried")
        each_of(job_ids, lambda op, job_id: acts.retry(op, job_id, patch), config_path, becomes="QUEUED")
    elif patch is not None:
        patch_many(wanted, patch, everything=everything, yes=yes, config_path=config_path)
    else:
        do_many(wanted, letters.retry, "retried", everything=everything, yes=yes, config_path=config_path)


@dead.command("discard")
@act_options
def dead_discard(
    job_ids: tuple[str, ...],
    *,
    everything: bool,
    yes: bool,
    config_path: str | None,
    **wanted: "Unpack[Filters]",
) -> None:
    r"""Give dead letters up for good, named or by filter: they become CANCELLED.

    Without --yes it only counts.

    \b
    Example: bpc-worker dead discard --code WEBHOOK_GONE --older 30d --yes
    """
    from bpc_worker.operator import acts
    from bpc_worker.operator import dead as letters

    if job_ids:
        check_named(job_ids, wanted, everything=everything, yes=yes, verb="discarded")
        each_of(job_ids, acts.discard, config_path, becomes="CANCELLED")
    else:
        do_many(wanted, letters.discard, "discarded", everything=everything, yes=yes, config_path=config_path)


@dead.command("export")
@filter_options
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), help="A file; default: standard output."
)
@config_option
def dead_export(*, out: Path | None, config_path: str | None, **wanted: "Unpack[Filters]") -> None:
    r"""Write dead letters with payload and error, one JSON object per line, the oldest first.

    \b
    Example: bpc-worker dead export --type RUN_COMMAND --out dead.jsonl
    """
    from bpc_worker.operator import dead as letters

    async def write(op: "Operator") -> int:
        written = 0
        choice = await letters.choose(op, **wanted)
        with click.open_file("-" if out is None else str(out), "w", encoding="utf-8") as file:
            async for row in letters.export(op, choice, limit=sys.maxsize):
                click.echo(json_line(row), file=file)
                written += 1
        return written

    try:
        written = as_operator(config_path, write)
    except OSError as error:
        if out is None:
            raise  # whoever reads us has gone
        fail(EXIT_FAILED, f"--out {out}: {error.strerror}", "name a file in a folder that you may write to")
    tell(f"{counted(written, 'dead letter')} written")


def patch_from(text: str) -> "Patch":
    """`a.b=VALUE`: VALUE is JSON, or else a text."""
    import msgspec

    from bpc_worker.operator.acts import Patch

    path, equals, value = text.partition("=")
    parts = tuple(path.split("."))
    if not equals or not all(parts):
        fail(EXIT_USAGE, f"--set {printable(text)}: write PATH=VALUE, like command=hello or options.depth=3")
    try:
        msgspec.json.decode(value)
    except msgspec.DecodeError:
        value = msgspec.json.encode(value).decode()
    return Patch(parts, value)
