"""The commands that stop claims and let them go on: pause, resume, pauses."""

import click

from bpc_worker.cli import main
from bpc_worker.cli._common.options import LENGTH, config_option, json_option
from bpc_worker.cli._common.output import show_list, tell
from bpc_worker.cli._common.sessions import as_operator

_KINDS = click.Choice(["queue", "type", "tenant"])


@main.command()
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


@main.command()
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


@main.command()
@json_option("One JSON object per pause.")
@config_option
def pauses(*, as_json: bool, config_path: str | None) -> None:
    r"""List what is paused: kind, name, until when, by whom, why.

    \b
    Example: bpc-worker pauses
    """
    from bpc_worker.operator import pauses as stops

    show_list(
        as_operator(config_path, stops.pauses),
        lambda each: [
            each.kind,
            each.tenant or each.name,
            each.expires_at or "until resumed",
            each.paused_by,
            each.reason,
        ],
        as_json=as_json,
        titles=("kind", "name", "until", "by", "why"),
        nothing="nothing is paused",
    )
