"""The options that several commands have, and what is read from their values."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar
from uuid import UUID

import click

from bpc_worker.cli._common.output import EXIT_USAGE, fail, printable

Callback = TypeVar("Callback", bound=Callable[..., object])

FILE = click.Path(path_type=Path)
_MOST_LISTED = 1000
_LENGTH = re.compile("(?:([0-9]+)d)?(?:([0-9]+)h)?(?:([0-9]+)m)?(?:([0-9]+)s)?")
_MOST_SECONDS = 36_500 * 86_400


class Length(click.ParamType[float]):
    """A length of time, in seconds."""

    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        parts = _LENGTH.fullmatch(str(value))
        if parts is None or not any(parts.groups()):
            self.fail(f"{value!r} is no length of time; write it like 90s, 15m, 2h, 1d12h", param, ctx)
        days, hours, minutes, seconds = (int(part or 0) for part in parts.groups())
        total = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
        if total > _MOST_SECONDS:
            self.fail(f"{value!r} is more than a hundred years", param, ctx)
        return float(total)


LENGTH = Length()

config_option = click.option("--config", "config_path", metavar="FILE", help="YAML file with settings.")
tenant_option = click.option(
    "--tenant", required=True, envvar="BPC_TENANT", show_envvar=True, help="Id or name of the tenant."
)
# All tenants unless one is named; BPC_TENANT is for pipelines, and would hide the others here.
one_tenant_option = click.option("--tenant", help="Only of this tenant: id or name.")
limit_option = click.option(
    "--limit", type=click.IntRange(1, 1_000_000), default=_MOST_LISTED, show_default=True,
    help="At most so many, the newest.",
)  # fmt: skip
timeout_option = click.option(
    "--timeout", type=click.FloatRange(0, 86_400), default=300.0, show_default=True,
    help="Seconds to wait at most.",
)  # fmt: skip
keys_option = click.option(
    "--keys", "keys_file", type=FILE, envvar="BPC_KEYS_FILE",
    help="JSON file with the public keys that count; or BPC_KEYS_FILE.",
)  # fmt: skip


def json_option(text: str) -> Callable[[Callback], Callback]:
    return click.option("--json", "as_json", is_flag=True, help=text)


def wait_options(what: str) -> Callable[[Callback], Callback]:
    """`--wait` and how long."""
    return several(click.option("--wait", is_flag=True, help=f"Wait until {what}."), timeout_option)


def age_options(what: str) -> Callable[[Callback], Callback]:
    return several(
        click.option("--older", "older_seconds", type=LENGTH, help=f"{what} more than this ago, like 1d."),
        click.option("--newer", "newer_seconds", type=LENGTH, help=f"{what} less than this ago, like 2h."),
    )


def several(*options: Callable[[Callback], Callback]) -> Callable[[Callback], Callback]:
    """As if they stood above the command in this order."""

    def add(command: Callback) -> Callback:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def uuid_from(text: str, what: str, hint: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        fail(EXIT_USAGE, f"{printable(text)!r} is no id of a {what}", hint)


def job_ids_from(given: Sequence[str]) -> list[UUID]:
    hint = "ids are printed by `bpc-worker jobs list`"
    return [uuid_from(text, "job", hint) for text in dict.fromkeys(given)]


def job_id_from(given: str) -> UUID:
    [found] = job_ids_from([given])
    return found
