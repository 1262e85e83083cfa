"""What waits, in two heaps: ready by rank, scheduled by time. A future job never stands before a due one."""

from collections.abc import Callable, Iterator
from datetime import datetime
from heapq import heappop, heappush
from itertools import count

from bpc_worker.jobs.model import JobId
from bpc_worker.memory.rows import Row

Rank = tuple[int, datetime, int]
Entries = dict[JobId, int]


def rank(row: Row) -> Rank:
    """Best priority first, then oldest, then first in."""
    return row.priority, row.scheduled_at, row.sequence


class Heaps:
    """An entry is valid as long as it is the last one made for its job: leaving is forgetting the number."""

    def __init__(self) -> None:
        self._ready: list[tuple[Rank, int, Row]] = []
        self._scheduled: list[tuple[datetime, int, Row]] = []
        self._entries: Entries = {}
        self._numbers = count(1)

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, row: Row) -> None:
        number = self._entries[row.job_id] = next(self._numbers)
        heappush(self._scheduled, (row.scheduled_at, number, row))

    def remove(self, row: Row) -> None:
        self._entries.pop(row.job_id, None)

    def clear(self) -> None:
        self._ready.clear()
        self._scheduled.clear()
        self._entries.clear()

    def promote(self, now: datetime) -> None:
        """What has fallen due becomes ready."""
        while self._scheduled and self._scheduled[0][0] <= now:
            _, number, row = heappop(self._scheduled)
            if self._entries.get(row.job_id) == number:
                heappush(self._ready, (rank(row), number, row))

    def best(self, wanted: Callable[[Row], bool], limit: int) -> list[Row]:
        """The first `limit` of the ready ones that are wanted, in their order; they stay where they are."""
        seen: list[tuple[Rank, int, Row]] = []
        found: list[Row] = []
        while self._ready and len(found) < limit:
            entry = heappop(self._ready)
            _, number, row = entry
            if self._entries.get(row.job_id) != number:
                continue
            seen.append(entry)
            if wanted(row):
                found.append(row)
        for entry in seen:
            heappush(self._ready, entry)
        return found

    def ready(self) -> Iterator[Row]:
        """In no order."""
        return (row for _, number, row in self._ready if self._entries.get(row.job_id) == number)

    def scheduled(self) -> Iterator[Row]:
        """In no order."""
        return (row for _, number, row in self._scheduled if self._entries.get(row.job_id) == number)
