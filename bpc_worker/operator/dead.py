"""Dead letters in bulk: count, list, export, retry and discard by kind, page by page, while workers run."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from typing import TypedDict, TypeVar, Unpack
from uuid import UUID

import msgspec

from bpc_worker.jobs.errors import Permanent
from bpc_worker.operator import acts
from bpc_worker.operator.jobs import PAGE, JobLine, JobRow, in_pages, window
from bpc_worker.operator.session import Operator
from bpc_worker.postgres.again import again
from bpc_worker.rows import all_of

Record = TypeVar("Record", JobLine, JobRow)


class Kind(msgspec.Struct, frozen=True):
    """Dead letters of one type and code."""

    type: str
    fail_code: str | None
    count: int
    oldest: datetime | None
    newest: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which ones; None: any. Made by `choose`, which fixes its times: what dies later is never among them."""

    type: str | None
    code: str | None
    tenant_id: UUID | None
    since: datetime | None
    before: datetime
    failed_too: bool

    def params(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in self.__slots__}


class Filters(TypedDict, total=False):
    """Which ones, as an operator says it; None or left out: any."""

    type_: str | None
    code: str | None
    tenant: str | None
    older_seconds: float | None
    newer_seconds: float | None
    failed_too: bool


async def choose(operator: Operator, **wanted: Unpack[Filters]) -> Choice:
    since, before = await window(operator, wanted.get("older_seconds"), wanted.get("newer_seconds"))
    return Choice(
        type=wanted.get("type_"),
        code=wanted.get("code"),
        tenant_id=await operator.tenant_id(wanted.get("tenant")),
        since=since,
        before=before,
        failed_too=wanted.get("failed_too", False),
    )


async def count(operator: Operator, choice: Choice) -> list[Kind]:
    return all_of(await operator.rows("dead_count", choice.params()), Kind)


def lines(operator: Operator, choice: Choice, *, limit: int) -> AsyncIterator[JobLine]:
    """The newest first."""
    return _pages(operator, "dead_list", choice, JobLine, limit)


def export(operator: Operator, choice: Choice, *, limit: int) -> AsyncIterator[JobRow]:
    """The oldest first, with payload and error."""
    return _pages(operator, "dead_export", choice, JobRow, limit)


def _pages(
    operator: Operator, name: str, choice: Choice, record: type[Record], limit: int
) -> AsyncIterator[Record]:
    async def read(last: Record | None, size: int) -> list[Record]:
        after, after_id = (None, None) if last is None else (last.finished_at, last.job_id)
        params = choice.params() | {"after": after, "after_id": after_id, "page": size}
        return all_of(await operator.rows(name, params), record)

    return in_pages(read, limit)


async def retry(operator: Operator, choice: Choice) -> AsyncIterator[int]:
    """How many, after every page. Stopped and begun again, it goes on with what is left."""
    async for touched in _act(operator, "dead_retry", choice):
        await operator.wake_workers()
        yield touched


def discard(operator: Operator, choice: Choice) -> AsyncIterator[int]:
    """Like `retry`."""
    return _act(operator, "dead_discard", choice)


async def _act(operator: Operator, name: str, choice: Choice) -> AsyncIterator[int]:
    while True:
        [row] = await again(operator.rows)(name, choice.params() | {"page": PAGE})
        touched = msgspec.convert(row["touched"], int)
        if not touched:
            return
        yield touched


async def patch_and_retry(
    operator: Operator, choice: Choice, patch: acts.Patch
) -> AsyncIterator[tuple[UUID, Permanent | None]]:
    """Job by job; with why not, where the payload has no such place or somebody else was quicker."""
    async for line in lines(operator, choice, limit=1_000_000_000):
        try:
            await acts.retry(operator, line.job_id, patch)
        except Permanent as error:
            yield line.job_id, error
        else:
            yield line.job_id, None
    await operator.wake_workers()
