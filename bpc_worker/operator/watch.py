"""The queue as a whole: how much waits, what runs, who works; and what happens, as it happens."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import msgspec

from bpc_worker.operator.dead import Kind, choose, count
from bpc_worker.operator.pauses import Paused, pauses
from bpc_worker.operator.session import Operator
from bpc_worker.rows import all_of

_RUNNING_SHOWN = 1000
_TAIL_PAGE = 1000
_LATE_SECONDS = 15.0  # ids are given before the commit: a slow transaction's events appear behind later ones


class Depth(msgspec.Struct, frozen=True):
    """Jobs of one queue, type and status. Oldest: due, started or ended, as the status has it."""

    queue: str
    type: str
    status: str
    count: int
    due: int
    oldest: datetime | None


class Running(msgspec.Struct, frozen=True):
    job_id: UUID
    type: str
    queue: str
    lease_owner: str
    attempts: int
    max_attempts: int
    stage: str | None
    started_at: datetime | None  # None: somebody made it by hand
    lease_expires_at: datetime
    expected_duration_ms: int | None
    seconds: float | None
    overdue: bool


class WorkerSeen(msgspec.Struct, frozen=True):
    worker_id: str
    host: str
    pid: int
    release: str
    types: list[str]
    queues: list[str]
    concurrency: int
    started_at: datetime
    seen_at: datetime
    expires_at: datetime


class TailEvent(msgspec.Struct, frozen=True):
    job_event_id: int
    job_id: UUID
    at: datetime
    type: str
    data: str
    job_type: str | None


@dataclass(frozen=True, slots=True)
class Picture:
    """The queue at one moment."""

    at: datetime
    depths: list[Depth]
    running: list[Running]
    dead: list[Kind]
    pauses: list[Paused]
    workers: list[WorkerSeen]


async def picture(operator: Operator, *, with_finished: bool = False) -> Picture:
    choice = await choose(operator)
    depths = all_of(await operator.rows("depths"), Depth)
    if with_finished:
        depths += all_of(await operator.rows("totals"), Depth)
    return Picture(
        at=choice.before,
        depths=depths,
        running=all_of(await operator.rows("running", {"page": _RUNNING_SHOWN} | operator.patience), Running),
        dead=await count(operator, choice),
        pauses=await pauses(operator),
        workers=all_of(await operator.rows("workers"), WorkerSeen),
    )


async def tail(
    operator: Operator, *, lines: int, job_id: UUID | None = None, follow: bool = True, every: float = 0.5
) -> AsyncIterator[TailEvent]:
    """The last `lines` events, then each as it is committed, none twice and none left out."""
    clock = asyncio.get_running_loop().time
    [row] = await operator.rows("last_event", {"lines": lines, "job_id": job_id})
    floor = msgspec.convert(row["after"], int)
    looks: deque[tuple[float, int]] = deque()  # when we had seen up to which id
    seen: set[int] = set()
    while True:
        params = {"after": floor, "job_id": job_id, "page": _TAIL_PAGE + len(seen)}
        found = all_of(await operator.rows("tail", params), TailEvent)
        fresh = [event for event in found if event.job_event_id not in seen]
        for event in fresh:
            yield event
        seen.update(event.job_event_id for event in fresh)
        looks.append((clock(), max(seen, default=floor)))
        while looks and looks[0][0] < clock() - _LATE_SECONDS:
            floor = max(floor, looks.popleft()[1])
            seen = {each for each in seen if each > floor}
        if len(fresh) < _TAIL_PAGE:
            if not follow:
                return
            await asyncio.sleep(every)
