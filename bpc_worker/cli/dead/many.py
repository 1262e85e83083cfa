"""Dead letters chosen by filters, counted before they are touched, and worked off in pages."""

from typing import TYPE_CHECKING

import click

from bpc_worker.cli._common.options import (
    age_options,
    config_option,
    job_ids_from,
    one_tenant_option,
    several,
)
from bpc_worker.cli._common.output import EXIT_FAILED, EXIT_USAGE, counted, fail, show_list, tell
from bpc_worker.cli._common.sessions import as_operator

if TYPE_CHECKING:  # heavy: imported where a command needs it, so that --help is quick
    from collections.abc import AsyncIterator, Callable

    from bpc_worker.operator.acts import Patch
    from bpc_worker.operator.dead import Choice, Filters, Kind
    from bpc_worker.operator.session import Operator


filter_options = several(
    click.option("--type", "type_", help="Only of this type."),
    click.option("--code", help="Only with this error code."),
    age_options("Died"),
    one_tenant_option,
    click.option("--failed", "failed_too", is_flag=True, help="FAILED jobs too, which no retry would help."),
)
act_options = several(
    click.argument("job_ids", metavar="[ID]...", nargs=-1),
    filter_options,
    click.option("--all", "everything", is_flag=True, help="All of them, without a filter."),
    click.option("--yes", is_flag=True, help="Do it; without this they are only counted."),
    config_option,
)


def any_given(filters: "Filters") -> bool:
    """Whether they choose among dead letters; --failed adds to them."""
    return any(value is not None for name, value in filters.items() if name != "failed_too")


def check_named(
    job_ids: tuple[str, ...], wanted: "Filters", *, everything: bool, yes: bool, verb: str
) -> None:
    job_ids_from(job_ids)
    if any_given(wanted) or everything:
        fail(EXIT_USAGE, "name jobs or give filters, not both")
    if not yes:
        tell(f"{counted(len(set(job_ids)), 'job')} would be {verb}; nothing was done: add --yes to do it")
        raise SystemExit(0)


def show_kinds(kinds: "list[Kind]", *, as_json: bool = False) -> None:
    show_list(
        kinds,
        lambda kind: [kind.count, kind.type, kind.fail_code, kind.oldest, kind.newest],
        as_json=as_json,
        titles=("count", "type", "code", "oldest", "newest"),
    )


async def _counted(
    op: "Operator", wanted: "Filters", *, everything: bool, yes: bool, verb: str
) -> "tuple[Choice, int]":
    """What would be touched, shown; ends here without --yes."""
    from bpc_worker.operator.dead import choose, count

    if not any_given(wanted) and not everything:
        fail(EXIT_USAGE, "which ones? name jobs, or give --type, --code, --tenant, --older, --newer or --all")
    choice = await choose(op, **wanted)
    kinds = await count(op, choice)
    total = sum(kind.count for kind in kinds)
    if not yes:
        show_kinds(kinds)
        tell(f"{counted(total, 'dead letter')} would be {verb}; nothing was done: add --yes to do it")
        raise SystemExit(0)
    return choice, total


def do_many(
    wanted: "Filters",
    act: "Callable[[Operator, Choice], AsyncIterator[int]]",
    verb: str,
    *,
    everything: bool,
    yes: bool,
    config_path: str | None,
) -> None:
    done = 0

    async def run(op: "Operator") -> int:
        from bpc_worker.operator.dead import count

        nonlocal done
        choice, total = await _counted(op, wanted, everything=everything, yes=yes, verb=verb)
        async for touched in act(op, choice):
            done += touched
            _progress(done, total, verb)
        return sum(kind.count for kind in await count(op, choice))

    try:
        left = as_operator(config_path, run, acts=True)
    except KeyboardInterrupt:
        fail(EXIT_FAILED, f"stopped: {done} were {verb}; the same command goes on with the rest")
    click.echo(done)
    if not done and not left:
        tell("no dead letters like that; see `bpc-worker dead list --count`")
    if left:
        tell(f"{left} were held by somebody else and left alone; the same command goes on with them")
        raise SystemExit(EXIT_FAILED)


def patch_many(
    wanted: "Filters", patch: "Patch", *, everything: bool, yes: bool, config_path: str | None
) -> None:
    from bpc_worker.operator.dead import patch_and_retry

    done, refused = 0, 0

    async def run(op: "Operator") -> None:
        nonlocal done, refused
        choice, total = await _counted(op, wanted, everything=everything, yes=yes, verb="mended and retried")
        async for _, error in patch_and_retry(op, choice, patch):
            done, refused = done + (error is None), refused + (error is not None)
            if error is not None:
                tell(error.message)
            if (done + refused) % 500 == 0:
                _progress(done, total, "mended and retried")

    try:
        as_operator(config_path, run, acts=True)
    except KeyboardInterrupt:
        fail(EXIT_FAILED, f"stopped: {done} were retried; the same command goes on with the rest")
    click.echo(done)
    if refused:
        tell(f"{counted(refused, 'dead letter')} left as they were, see above")
        raise SystemExit(EXIT_FAILED)


def _progress(done: int, total: int, verb: str) -> None:
    tell(f"{done} of {total} {verb}")
