"""The queue in memory: the same contract as PostgreSQL, without a server, for tests in milliseconds."""

import asyncio
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Protocol

from bpc_worker.ids import dice, nonce
from bpc_worker.jobs.model import Claim, JobId, LeaseToken, NewJob, Status, TenantId
from bpc_worker.jobs.queue_settings import QueueSettings
from bpc_worker.jobs.settlement import Settlement
from bpc_worker.jobs.store import (
    PLAIN_TERMS,
    Caps,
    ClaimTerms,
    Ends,
    Enqueued,
    Heartbeat,
    Look,
    Pause,
    PauseKind,
    Reaped,
    Renewal,
)
from bpc_worker.jobs.turns import Turns
from bpc_worker.memory import edges, holding
from bpc_worker.memory.heaps import rank
from bpc_worker.memory.ring import Ring, SharedCaps
from bpc_worker.memory.rows import Failure, JobEvent, Row
from bpc_worker.memory.suspects import SuspectsInMemory
from bpc_worker.memory.table import ANY_KIND, Additions, Snapshot, Table, check_pause

_REAP_PAGE = 100
_PLACES = (PauseKind.QUEUE, PauseKind.TYPE)

Eligible = Callable[[Row], bool]


class Clock(Protocol):
    @property
    def now(self) -> datetime: ...


class SystemClock:
    @property
    def now(self) -> datetime:
        return datetime.now(UTC)


class MemoryJobStore(SuspectsInMemory):
    """JobStore over a Table; a second worker on the same queue is a second store on the same table."""

    def __init__(
        self,
        settings: QueueSettings,
        *,
        clock: Clock | None = None,
        capacity: int = 0,
        table: Table | None = None,
        dice: Callable[[], float] = dice,
    ) -> None:
        self.table = table if table is not None else Table(capacity=capacity)
        self._settings = settings
        self._clock = clock or SystemClock()
        self._lease = timedelta(seconds=settings.lease_seconds)
        self._dice = dice
        self._turns = Turns()
        self._tenants = Ring(self.table.weights, settings.ring_start)

    async def enqueue(self, tenant_id: TenantId, job: NewJob, *, parent: JobId | None = None) -> Enqueued:
        additions = self.additions()
        enqueued = additions.enqueue(tenant_id, job, parent=parent)
        additions.commit()
        await self._ring()
        return enqueued

    async def enqueue_many(self, tenant_id: TenantId, jobs: Sequence[NewJob]) -> list[Enqueued]:
        additions = self.additions()
        enqueued = [additions.enqueue(tenant_id, job) for job in jobs]
        additions.commit()
        await self._ring()
        return enqueued

    def additions(self) -> Additions:
        """For jobs that are to be queued together with something else, or not at all."""
        return Additions(self.table, self._settings, self._clock.now)

    async def claim(
        self,
        *,
        limit: int,
        fresh: bool = True,  # noqa: ARG002 - nothing is passed over: a look costs no round trip here
        caps: Caps | None = None,
        ends: Ends = (),
        terms: ClaimTerms = PLAIN_TERMS,
    ) -> Look:
        written = await self.settle_group(ends) if ends else ()
        look = self._look(min(limit, 1) if terms.careful else limit, caps or {}, ahead=terms.ahead)
        return replace(look, ended=len(written) == len(ends))

    def _look(self, limit: int, caps: Caps, *, ahead: bool) -> Look:
        now, heaps = self._clock.now, self.table.heaps
        heaps.promote(now)
        pots = SharedCaps(caps)
        mine = self._mine(now, pots.empty)
        share, from_the_oldest = self._turns.next(limit)
        due = sorted((row for row in heaps.ready() if not row.suspect and mine(row)), key=rank)
        if not due:
            return Look(next_due_in=self._next_due_in(now, pots.empty))
        of_ring = sorted(self._tenants.next(due, share), key=_age)
        oldest = [min(due, key=_age)] if from_the_oldest else []
        wanted = [row for row in dict.fromkeys([*of_ring, *oldest, *due]) if pots.take(row)]
        taken = [row for row in wanted if not (ahead and row.attempts + 1 >= row.max_attempts)][:limit]
        self._turns.record(len(taken))
        taken.sort(key=lambda row: (row not in of_ring, row not in oldest, rank(row)))
        return Look(claims=[self._begin(row, now) for row in taken], more=len(wanted) > len(taken))

    def _lease_from_now(self) -> tuple[datetime, datetime]:
        now = self._clock.now
        return now, now + self._lease

    def _begin(self, row: Row, now: datetime) -> Claim:
        self.table.heaps.remove(row)
        return row.begin(self._settings.owner, LeaseToken(nonce()), now, self._lease)

    def _mine(
        self, now: datetime, leaving_out: Collection[str] = (), pauses: Collection[PauseKind] = ANY_KIND
    ) -> Eligible:
        types = frozenset(self._settings.types).difference(leaving_out)
        paused = self.table.paused(now, pauses)
        return lambda row: row.type in types and row.queue in self._settings.queues and not paused(row)

    def _next_due_in(self, now: datetime, leaving_out: Collection[str] = ()) -> float | None:
        """A paused tenant's job counts, as in PostgreSQL: an idle look costs less than reading past many."""
        mine = self._mine(now, leaving_out, _PLACES)
        waiting = (row for row in self.table.heaps.scheduled() if not row.suspect and mine(row))
        soonest = min((row.scheduled_at for row in waiting), default=None)
        return None if soonest is None else (soonest - now).total_seconds()

    async def release_unconfirmed_claims(self) -> None:
        """Every claim is heard here."""

    async def renew(self, beats: Sequence[Heartbeat]) -> Renewal:
        return holding.renew(self.table, beats, self._clock.now, self._lease)

    async def begin(
        self, claims: Sequence[Claim], start: Callable[[frozenset[LeaseToken]], None] = lambda _: None
    ) -> frozenset[LeaseToken]:
        begun = holding.begin(self.table, claims)
        start(begun)
        return begun

    async def cancel_requested(self, claims: Sequence[Claim]) -> frozenset[LeaseToken]:
        return holding.cancel_requested(self.table, claims)

    async def settle(self, claim: Claim, settlement: Settlement) -> Status | None:
        row = self.table.rows.get(claim.job_id)
        if row is None or row.lease_token != claim.lease_token:
            return None
        if row.lease_owner is None:  # settled by an earlier call of ours
            return row.status
        status = edges.settle(self.table, row, settlement, self._clock.now)
        await self._ring()
        return status

    async def settle_group(self, ends: Ends) -> dict[LeaseToken, Status]:
        for _, settlement in ends:
            edges.check(settlement)  # before anything is written: all of it can be stored, or nothing is
        settled = {}
        for claim, settlement in ends:
            for token, row in holding.held(self.table, [claim]).items():
                settled[token] = edges.settle(self.table, row, settlement, self._clock.now)
        await self._ring()
        return settled

    async def reap(self, *, ended_for: float = 0.0) -> list[Reaped]:
        now = self._clock.now
        ended_by = now - timedelta(seconds=ended_for)
        expired = [
            (row.lease_expires_at, row)
            for row in self.table.rows.values()
            if row.lease_expires_at is not None and row.lease_expires_at <= ended_by
        ]
        expired.sort(key=lambda each: each[0])
        found = [self._reap(row, now) for _, row in expired[:_REAP_PAGE]]
        await self._ring()
        return found

    def _reap(self, row: Row, now: datetime) -> Reaped:
        owner, attempt = row.lease_owner or "", row.attempts
        tries = row.snoozes + 1 if row.never_begun else attempt
        delay = timedelta(seconds=self._settings.backoff.after(tries, dice=self._dice()))
        status = edges.reap(self.table, row, now, delay)
        return Reaped(row.job_id, row.type, row.queue, status, owner, attempt)

    async def pause(self, pause: Pause) -> None:
        check_pause(pause)
        self.table.pauses[pause.kind, pause.name] = pause

    async def resume(self, kind: PauseKind, name: str) -> bool:
        paused = self.table.pauses.pop((kind, name), None) is not None
        await self._ring()
        return paused

    async def pulse(self) -> bool:
        return not self.table.shut

    # What an operator does by hand: in PostgreSQL bpc_cancel_job, bpc_retry_job, bpc_discard_job.

    async def cancel(self, job_id: JobId) -> Status:
        return edges.cancel(self.table, self.table.find(job_id), self._clock.now)

    async def requeue(self, job_id: JobId, *, keep_attempts: bool = False) -> None:
        edges.requeue(self.table, self.table.find(job_id), self._clock.now, keep_attempts=keep_attempts)
        await self._ring()

    async def discard(self, job_id: JobId) -> None:
        edges.discard(self.table, self.table.find(job_id), self._clock.now)

    # What only a queue in memory can be asked.

    def row(self, job_id: JobId) -> Row:
        return self.table.find(job_id)

    def events(self, job_id: JobId) -> list[JobEvent]:
        return list(self.table.events.get(job_id, ()))

    def snapshot(self) -> Snapshot:
        return self.table.snapshot(self._clock.now)

    def purge(self) -> int:
        return self.table.purge()

    @property
    def recent_failures(self) -> tuple[Failure, ...]:
        return tuple(self.table.failures)

    async def shutdown(self) -> None:
        """No more jobs but follow-ups; what is queued can still be claimed."""
        self.table.shut = True
        await self._ring()

    async def wait_due(self, *, at_most: float | None = None) -> bool:
        """Wait, without polling, until this store has something to claim; False when time or queue ended."""
        try:
            async with asyncio.timeout(at_most), self.table.changed:
                while (due_in := self._due_in()) != 0:
                    if self.table.shut and not self.table.heaps:
                        return False
                    await self._wait_for_a_change(due_in)
        except TimeoutError:
            return False
        return True

    def _due_in(self) -> float | None:
        now = self._clock.now
        self.table.heaps.promote(now)
        if self.table.heaps.best(self._mine(now), 1):
            return 0
        return self._next_due_in(now)

    async def _wait_for_a_change(self, at_most: float | None) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(at_most):
                await self.table.changed.wait()

    async def _ring(self) -> None:
        async with self.table.changed:
            self.table.changed.notify_all()


def _age(row: Row) -> tuple[datetime, int]:
    return row.scheduled_at, row.sequence
