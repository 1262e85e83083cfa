"""The commands that watch the whole queue: stats, top, tail."""

from contextlib import nullcontext
from typing import TYPE_CHECKING

import click

from bpc_worker.cli import main
from bpc_worker.cli._common.options import config_option, job_id_from, json_option
from bpc_worker.cli._common.output import json_line, plain, printable
from bpc_worker.cli._common.sessions import as_operator

if TYPE_CHECKING:  # heavy: imported where a command needs it, so that --help is quick
    from collections.abc import Sequence

    from bpc_worker.operator.session import Operator
    from bpc_worker.operator.watch import Picture, TailEvent

_ROWS = 20
_WIDE = 240


@main.command()
@click.option(
    "--all", "with_finished", is_flag=True, help="SUCCEEDED and CANCELLED too: reads the whole table."
)
@json_option("One JSON object per queue, type and status, pause, kind of dead letter and worker.")
@config_option
def stats(*, with_finished: bool, as_json: bool, config_path: str | None) -> None:
    r"""Count the jobs by queue, type and status; what is due and since when, what runs, is dead or paused.

    \b
    Example: bpc-worker stats
    """
    from bpc_worker.operator.watch import picture

    seen = as_operator(config_path, lambda op: picture(op, with_finished=with_finished))
    if as_json:
        _show_parts(seen)
    else:
        _show(seen)


@main.command()
@click.option("--once", is_flag=True, help="Show it once and end.")
@click.option("--every", type=click.FloatRange(0.1, 3600), default=1.0, show_default=True, help="Seconds.")
@json_option("One JSON object per look.")
@config_option
def top(*, once: bool, every: float, as_json: bool, config_path: str | None) -> None:
    r"""Watch the queue live: what waits, runs, is dead or paused, and who works. ^C ends it.

    \b
    Example: bpc-worker top
    """
    import asyncio

    from rich.console import Console
    from rich.live import Live

    from bpc_worker.cli._common.queue_tables import tables
    from bpc_worker.operator.watch import picture

    console = Console()
    is_live = console.is_terminal and not once and not as_json
    live = Live(console=console, auto_refresh=False, screen=True) if is_live else None

    def show(seen: "Picture") -> None:
        if live is not None:
            live.update(tables(seen, rows=max(3, console.height // 2)), refresh=True)
        elif as_json:
            click.echo(json_line(_as_object(seen)))
        else:
            _show(seen)

    async def look(op: "Operator") -> None:
        with live or nullcontext():
            show(await picture(op))
            while not once:
                await asyncio.sleep(every)
                show(await picture(op))

    try:
        as_operator(config_path, look)
    except KeyboardInterrupt:
        raise SystemExit(0) from None


@main.command()
@click.option(
    "-n", "--lines", type=click.IntRange(0, 100_000), default=10, show_default=True, help="Earlier ones."
)
@click.option("--job", "job_id", metavar="ID", help="Only of this job.")
@click.option("--no-follow", is_flag=True, help="End after the earlier ones.")
@json_option("One JSON object per event.")
@config_option
def tail(*, lines: int, job_id: str | None, no_follow: bool, as_json: bool, config_path: str | None) -> None:
    r"""Follow what happens to jobs: failures, retries, dead letters, cancels, reaps. ^C ends it.

    A job that simply succeeds leaves no event.

    \b
    Example: bpc-worker tail -n 50
    """
    from bpc_worker.operator import watch

    wanted = None if job_id is None else job_id_from(job_id)

    async def follow(op: "Operator") -> None:
        async for event in watch.tail(op, lines=lines, job_id=wanted, follow=not no_follow):
            click.echo(json_line(event) if as_json else _line(event))

    try:
        as_operator(config_path, follow)
    except KeyboardInterrupt:
        raise SystemExit(0) from None


def _line(event: "TailEvent") -> str:
    return (
        f"{plain(event.at)}  {event.job_id}  {event.job_type or '-'}  {event.type}  {printable(event.data)}"
    )


def _show(seen: "Picture") -> None:
    from rich.console import Console

    from bpc_worker.cli._common.queue_tables import tables

    console = Console()
    if not console.is_terminal:
        console = Console(width=_WIDE)  # a file has no margin to break at
    console.print(tables(seen, rows=_ROWS))


def _as_object(seen: "Picture") -> dict[str, object]:
    return {name: getattr(seen, name) for name in ("at", "depths", "running", "dead", "pauses", "workers")}


def _show_parts(seen: "Picture") -> None:
    parts: dict[str, Sequence[object]] = {
        "jobs": seen.depths, "dead": seen.dead, "pause": seen.pauses, "worker": seen.workers,
    }  # fmt: skip
    for about, records in parts.items():
        for record in records:
            click.echo(json_line(record, about=about))
