"""What the commands of an operator share: the session, filters, lengths of time, JSON that is not touched."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, TypeVar
from uuid import UUID

import click

from bpc_worker.cli._common.parts import (
    EXIT_USAGE,
    database_url,
    explained,
    fail,
    finished,
    printable,
    settings_from,
)
from bpc_worker.cli._common.session import plain, show_lines, uuid_from

if TYPE_CHECKING:  # heavy: imported where a command needs it, so that --help is quick
    from bpc_worker.operator.jobs import JobLine
    from bpc_worker.operator.session import Operator

T = TypeVar("T")
Callback = TypeVar("Callback", bound=Callable[..., object])

STATUSES = ("QUEUED", "RUNNING", "SUCCEEDED", "FAILED", "CANCELLED", "DEAD_LETTER")
_TO_LOOK, _TO_ACT = "bpc_operator or bpc_reader", "bpc_operator"
_LENGTH = re.compile("(?:([0-9]+)d)?(?:([0-9]+)h)?(?:([0-9]+)m)?(?:([0-9]+)s)?")
_MOST_SECONDS = 36_500 * 86_400
_STORED_JSON = ("payload", "result", "last_error", "progress", "data")


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


def one_tenant_option(command: Callback) -> Callback:
    """All tenants unless one is named; BPC_TENANT is the owner's, and would hide the others here."""
    return click.option("--tenant", help="Only of this tenant: id or name.")(command)


def age_options(what: str) -> Callable[[Callback], Callback]:
    def add(command: Callback) -> Callback:
        newer = click.option("--newer", type=LENGTH, help=f"{what} less than this ago, like 2h.")(command)
        return click.option("--older", type=LENGTH, help=f"{what} more than this ago, like 1d.")(newer)

    return add


def as_operator(
    config_path: str | None, work: "Callable[[Operator], Awaitable[T]]", *, acts: bool = False
) -> T:
    """Do something with the queue; what goes wrong becomes words and an exit code."""
    from bpc_worker.operator.session import open_operator

    settings = settings_from(config_path)

    async def run(url: str) -> T:
        async with open_operator(settings, url) as operator:
            return await work(operator)

    with database_url(settings) as url, explained(_TO_ACT if acts else _TO_LOOK):
        return finished(run(url))


async def collected(items: AsyncIterator[T]) -> list[T]:
    return [item async for item in items]


def job_ids_from(given: Sequence[str]) -> list[UUID]:
    hint = "ids are printed by `bpc-worker jobs list`"
    return [uuid_from(text, "job", hint) for text in dict.fromkeys(given)]


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


def json_line(record: object, **more: object) -> str:
    """One object on one line; JSON out of the database goes in as it is, to the last digit."""
    import msgspec

    def stored(value: object) -> object:
        if isinstance(value, dict):
            return {
                name: msgspec.Raw(each.encode())
                if name in _STORED_JSON and isinstance(each, str)
                else stored(each)
                for name, each in value.items()
            }
        return [stored(each) for each in value] if isinstance(value, list) else value

    shown = plain(record)
    merged = {**shown, **more} if isinstance(shown, dict) else more
    return msgspec.json.encode(stored({name: plain(value) for name, value in merged.items()})).decode()


def show_jobs(found: "Sequence[JobLine]", *, as_json: bool) -> None:
    if as_json:
        for each in found:
            click.echo(json_line(each))
        return

    def line(each: "JobLine") -> list[object]:
        trouble = None if each.fail_code is None else f"{each.fail_code}: {each.message or ''}"[:80]
        tried = f"{each.attempts}/{each.max_attempts}"
        when = each.finished_at or each.started_at or each.scheduled_at
        return [each.job_id, each.status, each.type, each.queue, each.tenant, tried, when, trouble]

    titles = ("job", "status", "type", "queue", "tenant", "tried", "changed", "last failure")
    show_lines(found, line, as_json=False, titles=titles)
