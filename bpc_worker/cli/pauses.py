"""The commands that stop claims and let them go on: pause, resume, pauses."""

from typing import TYPE_CHECKING

import click

from bpc_worker.cli._common.operator import LENGTH, as_operator
from bpc_worker.cli._common.parts import Command
from bpc_worker.cli._common.session import config_option, json_option, show_lines, tell

if TYPE_CHECKING:  # heavy: imported where a command needs it, so that --help is quick
    from bpc_worker.operator.pauses import Paused

_KINDS = click.Choice(["queue", "type", "tenant"])


@click.command(cls=Command)
@click.argument("kind", type=_KINDS)
@click.argument("name")
@click.option("--reason", required=True, help="Why: whoever asks later reads it.")
@click.option("--for", "seconds", type=LENGTH, help="Until then, like 2h; default: until it is resumed.")
@config_option
def pause(kind: str, name: str, *, reason: str, seconds: float | None, config_path: str | None) -> None:
    r"""Claim nothing more of a queue, a type of job or a tenant; what runs goes on.

    \b
    Example: bpc-worker pause type DELIVER_WEBHOOK --reason "receiver is being repaired" --for 2h
    """
    from bpc_worker.jobs.store import PauseKind
    from bpc_worker.operator import pauses as stops

    as_operator(config_path, lambda op: stops.pause(op, PauseKind(kind), name, reason, seconds), acts=True)
    tell(f"{kind} {name} is paused; let it go on with `bpc-worker resume {kind} {name}`")


@click.command(cls=Command)
@click.argument("kind", type=_KINDS)
@click.argument("name")
@config_option
def resume(kind: str, name: str, config_path: str | None) -> None:
    r"""Let a paused queue, type or tenant go on.

    \b
    Example: bpc-worker resume type DELIVER_WEBHOOK
    """
    from bpc_worker.jobs.store import PauseKind
    from bpc_worker.operator import pauses as stops

    as_operator(config_path, lambda op: stops.resume(op, PauseKind(kind), name), acts=True)
    tell(f"{kind} {name} goes on")


@click.command(cls=Command)
@json_option("One JSON object per pause.")
@config_option
def pauses(*, as_json: bool, config_path: str | None) -> None:
    r"""List what is paused: kind, name, until when, by whom, why.

    \b
    Example: bpc-worker pauses
    """
    from bpc_worker.operator import pauses as stops

    found = as_operator(config_path, stops.pauses)

    def line(each: "Paused") -> list[object]:
        return [
            each.kind,
            each.tenant or each.name,
            each.expires_at or "until resumed",
            each.paused_by,
            each.reason,
        ]

    show_lines(found, line, as_json=as_json, titles=("kind", "name", "until", "by", "why"))
    if not found:
        tell("nothing is paused")
