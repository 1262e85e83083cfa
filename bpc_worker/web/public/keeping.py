"""What was read of a battery is kept for a while, and what was made of it: pages, files, each as its bytes.

Nothing is shown for longer than `kept_seconds` without a look at the database; NOTIFY makes that sooner.
While the database is away, it is shown for `stale_seconds`, and says since when.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Generic, TypeVar

from bpc_worker import ids
from bpc_worker.jobs.errors import JobError, Unavailable
from bpc_worker.web.layer.answers import Raw
from bpc_worker.web.public.verdicts import Verdict

T = TypeVar("T")

_MOST_BYTES = 64 * 1024 * 1024
_LEAST_BYTES = 2048  # what an entry takes beside its answers
_AGAIN_SECONDS = 1.0  # until a database that was away is asked again


def utc_now() -> datetime:
    return datetime.fromtimestamp(ids.unix_time(), UTC)


@dataclass(slots=True)
class Kept(Generic[T]):
    """`at`: when the database said so; `made_at` and `read_at` by the loop's clock."""

    found: T
    at: datetime
    made_at: float
    read_at: float
    generation: int
    away_since: datetime | None = None
    verdict: Verdict | None = None
    answers: dict[Hashable, Raw] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return _LEAST_BYTES + sum(len(each.body) for each in self.answers.values())


class Keeper(Generic[T]):
    def __init__(
        self, kept_seconds: float, stale_seconds: float, *,
        clock: Callable[[], float], now: Callable[[], datetime] = utc_now, most_bytes: int = _MOST_BYTES,
    ) -> None:  # fmt: skip
        self._kept_seconds = kept_seconds
        self._stale_seconds = stale_seconds
        self._clock = clock
        self._now = now
        self._most_bytes = most_bytes
        self._kept: OrderedDict[Hashable, Kept[T]] = OrderedDict()
        self._bytes = 0
        self._generation = 0
        self._away: tuple[float, datetime, JobError] | None = None
        self._reading: dict[Hashable, asyncio.Task[Kept[T]]] = {}

    def change(self) -> None:
        """Something was changed: nothing counts before it was compared."""
        self._generation += 1

    def is_fresh(self, kept: Kept[T]) -> bool:
        return kept.generation == self._generation and self.left(kept) > 0

    async def get(self, key: Hashable, read: Callable[[], Awaitable[T]]) -> Kept[T]:
        kept = self._kept.get(key)
        if kept is not None and self.is_fresh(kept):
            self._kept.move_to_end(key)
            return kept
        task = self._reading.get(key)
        if task is None:  # whoever asks meanwhile waits for the same look
            task = self._reading[key] = asyncio.create_task(self._look(key, read))
            task.add_done_callback(lambda _: self._reading.pop(key, None))
        return await asyncio.shield(task)

    def left(self, kept: Kept[T]) -> float:
        """For how many seconds it may still be kept, here and by others."""
        if kept.away_since is not None:
            return 0
        return kept.made_at + self._kept_seconds - self._clock()

    def caching(self, kept: Kept[T]) -> str:
        """Ours and others' time together are no longer than we may keep it."""
        return f"public, max-age={max(0, int(self.left(kept)))}, must-revalidate"

    def age(self, kept: Kept[T]) -> int:
        """Seconds since the database said so."""
        return max(0, int(self._clock() - kept.read_at))

    def put(self, key: Hashable, kept: Kept[T], what: Hashable, answer: Raw) -> Raw:
        """Made once; the eldest make room."""
        if self._kept.get(key) is kept:
            kept.answers[what] = answer
            self._bytes += len(answer.body)
            while self._bytes > self._most_bytes and len(self._kept) > 1:
                _, gone = self._kept.popitem(last=False)
                self._bytes -= gone.size
        return answer

    async def _look(self, key: Hashable, read: Callable[[], Awaitable[T]]) -> Kept[T]:
        generation, former = self._generation, self._kept.get(key)
        if self._away is not None and self._clock() - self._away[0] < _AGAIN_SECONDS:
            return self._stale(key, former, self._away[2])
        try:
            found = await read()
        except Unavailable as error:
            since = self._away[1] if self._away is not None else self._now()
            self._away = self._clock(), since, error
            return self._stale(key, former, error)
        self._away = None
        now = self._clock()
        if former is not None and former.found == found and self.left(former) > 0:
            former.generation, former.read_at, former.at = generation, now, self._now()
            return former
        return self._keep(key, Kept(found, self._now(), now, now, generation))

    def _stale(self, key: Hashable, former: Kept[T] | None, error: JobError) -> Kept[T]:
        """As it was, with a mark; too old or never known: the error."""
        if former is None or self._away is None or self._clock() - former.read_at > self._stale_seconds:
            raise error
        if former.away_since == self._away[1]:
            return former
        stale = Kept(former.found, former.at, former.made_at, former.read_at, -1, self._away[1])
        stale.verdict = former.verdict
        return self._keep(key, stale)

    def _keep(self, key: Hashable, kept: Kept[T]) -> Kept[T]:
        former = self._kept.pop(key, None)
        self._bytes += kept.size - (0 if former is None else former.size)
        self._kept[key] = kept
        return kept
