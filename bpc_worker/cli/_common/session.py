"""What the commands of a pipeline's owner share: options, the tenant's session, output, waiting."""

import sys
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NoReturn, TypeVar

import click

from bpc_worker.cli._common.parts import (
    EXIT_FAILED,
    EXIT_USAGE,
    database_url,
    explained,
    fail,
    finished,
    installed_handlers,
    printable,
    settings_from,
)

if TYPE_CHECKING:  # heavy: imported where a command needs it, so that --help is quick
    from uuid import UUID

    from bpc_worker.pipeline.session import Owner
    from bpc_worker.postgres.queue.job_states import JobState

T = TypeVar("T")
Callback = TypeVar("Callback", bound=Callable[..., object])

_PATIENCE_LOOKS = 25  # five seconds of nobody taking the job, before a word about it
_MOST_LISTED = 1000


def config_option(command: Callback) -> Callback:
    return click.option("--config", "config_path", metavar="FILE", help="YAML file with settings.")(command)


def tenant_option(command: Callback) -> Callback:
    return click.option(
        "--tenant", required=True, envvar="BPC_TENANT", show_envvar=True, help="Id or name of the tenant."
    )(command)


def json_option(text: str) -> Callable[[Callback], Callback]:
    return click.option("--json", "as_json", is_flag=True, help=text)


def limit_option(command: Callback) -> Callback:
    return click.option(
        "--limit", type=click.IntRange(1, 1_000_000), default=_MOST_LISTED, show_default=True,
        help="At most so many, the newest.",
    )(command)  # fmt: skip


def wait_options(what: str) -> Callable[[Callback], Callback]:
    """`--wait` and how long."""

    def add(command: Callback) -> Callback:
        limited = click.option(
            "--timeout", type=click.FloatRange(0, 86_400), default=300.0, show_default=True,
            help="Seconds to wait at most.",
        )(command)  # fmt: skip
        return click.option("--wait", is_flag=True, help=f"Wait until {what}.")(limited)

    return add


def as_owner(config_path: str | None, tenant: str, work: "Callable[[Owner], Awaitable[T]]") -> T:
    """Do something for the tenant; what goes wrong becomes words and an exit code."""
    from bpc_worker.pipeline.session import open_owner

    settings, registry = settings_from(config_path), installed_handlers()

    async def run(url: str) -> T:
        async with open_owner(settings, registry, url, tenant) as owner:
            return await work(owner)

    with database_url(settings) as url, explained():
        return finished(run(url))


def tell(*lines: str) -> None:
    """On standard error: for people, never for programs."""
    for line in lines:
        click.echo(f"bpc-worker: {printable(line)}", err=True)


def tell_size(count: int, limit: int, nothing: str) -> None:
    """About a list: that it is empty, or may not be all."""
    if not count:
        tell(nothing)
    elif count == limit:
        tell(f"there may be more than these {limit}: say --limit")


def counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def plain(value: object) -> object:
    """As JSON has it: times in UTC, bytes in hex, ids as text."""
    from datetime import datetime
    from uuid import UUID

    import msgspec

    from bpc_worker.core.base.forms import timestamp

    match value:
        case msgspec.Struct():
            return {name: plain(getattr(value, name)) for name in value.__struct_fields__}
        case dict():
            return {str(name): plain(each) for name, each in value.items()}
        case list() | tuple():
            return [plain(each) for each in value]
        case bytes():
            return value.hex()
        case datetime():
            return timestamp(value)
        case UUID():
            return str(value)
        case _:
            return value


def show_json(value: object) -> None:
    import json

    click.echo(json.dumps(plain(value), ensure_ascii=False))


def show_lines(
    records: Sequence[T],
    line: Callable[[T], Sequence[object]],
    *,
    as_json: bool,
    titles: Sequence[str] = (),
) -> None:
    """A list: one JSON object per line, or columns; their titles are for people at a terminal."""
    if as_json:
        for each in records:
            show_json(each)
        return
    rows = [[_cell(cell) for cell in line(each)] for each in records]
    if titles and rows and sys.stdout.isatty():
        rows.insert(0, list(titles))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)]
        click.echo("  ".join(cells).rstrip())


def show_fields(fields: Iterable[tuple[str, object]]) -> None:
    """One thing: a name and a value per line."""
    shown = [(name, _cell(value)) for name, value in fields]
    width = max(len(name) for name, _ in shown)
    for name, value in shown:
        click.echo(f"{name:<{width}}  {value}")


def _cell(value: object) -> str:
    shown = plain(value)
    return "-" if shown is None else printable(str(shown)).replace("\n", "\\n").replace("\t", " ")


def patience() -> "Callable[[JobState], None]":
    """For every look at a job: says once, after a while, that nobody takes it."""
    looks = 0

    def looked(state: "JobState") -> None:
        nonlocal looks
        looks = 0 if state.ended or state.attempts else looks + 1
        if looks == _PATIENCE_LOOKS:
            from bpc_worker.pipeline.jobs import how_it_stands

            tell(*how_it_stands(state), "waiting on; ^C ends the waiting, not the job")

    return looked


def not_done(state: "JobState") -> NoReturn:
    """The job that was waited for has not succeeded."""
    from bpc_worker.pipeline.jobs import how_it_stands

    tell(*how_it_stands(state))
    raise SystemExit(EXIT_FAILED)


def uuid_from(text: str, what: str, hint: str) -> "UUID":
    from uuid import UUID

    try:
        return UUID(text)
    except ValueError:
        fail(EXIT_USAGE, f"{printable(text)!r} is no id of a {what}", hint)
