"""Dead letters in bulk: count, list, export, retry and discard by kind, page by page, while workers run."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar
from uuid import UUID

import msgspec

from bpc_worker.jobs.errors import Permanent
from bpc_worker.operator import acts
from bpc_worker.operator.jobs import PAGE, JobLine, JobRow, window
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


async def choose(
    operator: Operator,
    *,
    type_: str | None = None,
    code: str | None = None,
    tenant: str | None = None,
    older_seconds: float | None = None,
    newer_seconds: float | None = None,
    failed_too: bool = False,
) -> Choice:
    since, before = await window(operator, older_seconds, newer_seconds)
    tenant_id = await operator.tenant_id(tenant)
    return Choice(
        type=type_, code=code, tenant_id=tenant_id, since=since, before=before, failed_too=failed_too
    )


async def count(operator: Operator, choice: Choice) -> list[Kind]:
    return all_of(await operator.rows("dead_count", choice.params()), Kind)


def lines(operator: Operator, choice: Choice, *, limit: int) -> AsyncIterator[JobLine]:
    """The newest first."""
    return _pages(operator, "dead_list", choice, JobLine, limit)


def export(operator: Operator, choice: Choice, *, limit: int) -> AsyncIterator[JobRow]:
    """The oldest first, with payload and error."""
    return _pages(operator, "dead_export", choice, JobRow, limit)


async def _pages(
    operator: Operator, name: str, choice: Choice, record: type[Record], limit: int
) -> AsyncIterator[Record]:
    left, after, after_id = limit, None, None
    while left:
        size = min(PAGE, left)
        params = choice.params() | {"after": after, "after_id": after_id, "page": size}
        page = all_of(await operator.rows(name, params), record)
        for each in page:
            yield each
        if len(page) < size:
            return
        left -= size
        after, after_id = page[-1].finished_at, page[-1].job_id


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
        [row] = await again(lambda: operator.rows(name, choice.params() | {"page": PAGE}))
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
