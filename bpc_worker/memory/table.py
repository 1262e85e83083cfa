"""The rows of the queue in memory, what happened to them, and what is paused."""

import asyncio
from collections import defaultdict, deque
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count

from bpc_worker.jobs.errors import Code, Permanent, Unavailable
from bpc_worker.jobs.model import ErrorInfo, JobId, NewJob, Status, TenantId
from bpc_worker.jobs.queue_settings import QueueSettings
from bpc_worker.jobs.store import Enqueued, Pause, PauseKind
from bpc_worker.memory import json_values
from bpc_worker.memory.heaps import Heaps
from bpc_worker.memory.rows import Failure, JobEvent, Row, new_row

ANY_KIND = frozenset(PauseKind)
_FAILURES_KEPT = 100
_LONGEST_NAME = 200
_LONGEST_REASON = 2000

Key = tuple[TenantId, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The queue in numbers."""

    depth: int  # ready and scheduled
    ready: int
    scheduled: int
    running: int
    shutdown: bool


@dataclass(slots=True)
class SuspectWatch:
    """Who may take suspects."""

    owner: str = ""
    until: datetime = datetime(1970, 1, 1, tzinfo=UTC)

    def is_held_by(self, watcher: str, now: datetime) -> bool:
        return self.owner == watcher and self.until > now


class Table:
    """One queue; any number of stores may work on it, in one event loop."""

    def __init__(self, *, capacity: int = 0) -> None:
        self.capacity = capacity  # how many may wait; 0: no limit
        self.rows: dict[JobId, Row] = {}
        self.keys: dict[Key, Row] = {}
        self.heaps = Heaps()
        self.weights: dict[TenantId, int] = {}  # jobs in a row, whenever a tenant's turn comes round
        self.events: defaultdict[JobId, list[JobEvent]] = defaultdict(list)
        self.pauses: dict[tuple[PauseKind, str], Pause] = {}
        self.suspect_watch = SuspectWatch()
        self.failures: deque[Failure] = deque(maxlen=_FAILURES_KEPT)
        self.sequence = count(1)
        self.shut = False
        self.changed = asyncio.Condition()

    def put(self, row: Row) -> None:
        """A row that waits, new or again."""
        self.rows[row.job_id] = row
        self.weights.setdefault(row.tenant_id, 1)
        if row.key is not None:
            self.keys[row.key] = row
        self.heaps.add(row)

    def find(self, job_id: JobId) -> Row:
        try:
            return self.rows[job_id]
        except KeyError:
            raise Permanent(Code.NOT_FOUND, f"no job {job_id}") from None

    def note(self, row: Row, now: datetime, event: str, **data: object) -> None:
        self.events[row.job_id].append(JobEvent(job_id=row.job_id, at=now, type=event, data=data))

    def remember_failure(self, row: Row, now: datetime, error: ErrorInfo) -> None:
        self.failures.append(
            Failure(
                job_id=row.job_id,
                type=row.type,
                attempt=row.attempts,
                code=error.code,
                message=error.message,
                at=now,
            )
        )

    def paused(self, now: datetime, kinds: Collection[PauseKind] = ANY_KIND) -> Callable[[Row], bool]:
        """Whether a row is paused at this time."""
        valid = {
            (kind, name)
            for (kind, name), pause in self.pauses.items()
            if kind in kinds and (pause.expires_at is None or pause.expires_at > now)
        }
        return lambda row: (
            not valid.isdisjoint(
                (
                    (PauseKind.QUEUE, row.queue),
                    (PauseKind.TYPE, row.type),
                    (PauseKind.TENANT, str(row.tenant_id)),
                )
            )
        )

    def snapshot(self, now: datetime) -> Snapshot:
        self.heaps.promote(now)
        ready = sum(1 for _ in self.heaps.ready())
        return Snapshot(
            depth=len(self.heaps),
            ready=ready,
            scheduled=len(self.heaps) - ready,
            running=sum(row.status is Status.RUNNING for row in self.rows.values()),
            shutdown=self.shut,
        )

    def purge(self) -> int:
        """Forget everything that waits, keys included; how many that were."""
        waiting = [row for row in self.rows.values() if row.status is Status.QUEUED]
        for row in waiting:
            del self.rows[row.job_id]
            self.events.pop(row.job_id, None)
            if row.key is not None:
                del self.keys[row.key]
        self.heaps.clear()
        return len(waiting)


class Additions:
    """Jobs about to be queued: all of them at `commit`, or none."""

    def __init__(self, table: Table, settings: QueueSettings, now: datetime) -> None:
        self._table = table
        self._settings = settings
        self._now = now
        self._rows: list[Row] = []
        self._keys: dict[Key, Row] = {}

    def enqueue(self, tenant_id: TenantId, job: NewJob, *, parent: JobId | None = None) -> Enqueued:
        sequence = next(self._table.sequence)
        row = new_row(sequence, self._settings, tenant_id, job, parent=parent, now=self._now)
        if row.key is not None:
            known = self._table.keys.get(row.key) or self._keys.get(row.key)
            if known is not None:
                return _same_job(known, row)
            self._keys[row.key] = row
        if parent is None:  # a follow-up is part of work that was accepted already
            self._check_room()
        self._rows.append(row)
        return Enqueued(row.job_id, added=True)

    def commit(self) -> None:
        for row in self._rows:
            self._table.put(row)

    def _check_room(self) -> None:
        if self._table.shut:
            raise Unavailable(Code.QUEUE_UNAVAILABLE, "the queue is shut down and takes no more jobs")
        capacity = self._table.capacity
        if capacity and len(self._table.heaps) + len(self._rows) >= capacity:
            raise Permanent(
                Code.QUEUE_FULL,
                f"{len(self._table.heaps)} jobs wait and {capacity} may: queue it when some are done, "
                "or allow for more",
            )


def _same_job(known: Row, asked: Row) -> Enqueued:
    if not json_values.same(known.payload, asked.payload):
        raise Permanent(
            Code.IDEMPOTENCY_CONFLICT,
            f"the idempotency key is taken by job {known.job_id} with another payload",
        )
    return Enqueued(known.job_id, added=False)


def check_pause(pause: Pause) -> None:
    for what, text, longest in (
        ("name", pause.name, _LONGEST_NAME),
        ("reason", pause.reason, _LONGEST_REASON),
    ):
        if not 1 <= len(text) <= longest:
            raise Permanent(Code.VALIDATION_ERROR, f"the {what} of a pause has 1 to {longest} characters")
