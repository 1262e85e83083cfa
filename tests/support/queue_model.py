"""The queue as plainly as it can be said: one list of jobs, looked through from the start every time.

Jobs and claims have numbers, in the order in which they came to be.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from bpc_worker.jobs.backoff import Backoff
from bpc_worker.jobs.model import TenantId
from bpc_worker.jobs.queue_settings import QueueSettings
from bpc_worker.jobs.settlement import Settlement
from bpc_worker.jobs.store import Pause

Key = tuple[TenantId, str, str]
Pauses = dict[tuple[str, str], Pause]


@dataclass(frozen=True, kw_only=True)
class Wish:
    """A job that somebody wants to queue."""

    tenant: TenantId
    type: str
    queue: str
    priority: int
    payload: int
    delay: float
    max_attempts: int
    key: str | None


@dataclass(kw_only=True)
class Job:
    number: int
    wish: Wish
    scheduled_at: datetime
    status: str = "QUEUED"
    attempts: int = 0
    snoozes: int = 0
    fail_code: str | None = None
    claim: int | None = None  # whose token is on the row
    begun: int | None = None  # the claim that last said it begins
    lease_until: datetime | None = None
    cancel_requested: bool = False
    stage: str | None = None
    events: list[str] = field(default_factory=list)

    @property
    def rank(self) -> tuple[int, datetime, int]:
        return self.wish.priority, self.scheduled_at, self.number

    @property
    def suspect(self) -> bool:
        return self.fail_code == "LEASE_EXPIRED" and self.attempts >= 2

    @property
    def never_begun(self) -> bool:
        must = self.attempts >= self.wish.max_attempts or self.fail_code == "LEASE_EXPIRED"
        return must and self.begun != self.claim and self.snoozes < 100

    def end_lease(self, status: str, now: datetime, delay: float | None) -> None:
        self.status, self.lease_until = status, None
        if status == "QUEUED" and delay is not None:
            self.scheduled_at = now + timedelta(seconds=delay)


@dataclass(frozen=True)
class Claimed:
    claim: int
    job: int
    attempts: int
    snoozes: int


@dataclass(frozen=True)
class Found:
    claims: list[Claimed]
    more: bool
    next_due_in: float | None


class Conflict(Exception):  # noqa: N818 - a fact
    pass


class QueueModel:
    def __init__(self, now: datetime, settings: QueueSettings, tenants: Sequence[TenantId]) -> None:
        self.now = now
        self.jobs: list[Job] = []
        self.pauses: Pauses = {}
        self._types, self._queues = settings.types, settings.queues
        self._lease = timedelta(seconds=settings.lease_seconds)
        self._looks = 0
        self._claims = 0
        self._tenants = sorted(tenants)
        self._ring_at, self._owed = self._tenants[-1], 0

    def enqueue(self, wishes: list[Wish]) -> list[tuple[int, bool]]:
        """All or none: of each the job's number, and whether it was added."""
        added: list[Job] = []
        found = []
        for wish in wishes:
            known = [
                job for job in [*self.jobs, *added] if wish.key is not None and _key(job.wish) == _key(wish)
            ]
            if known and known[0].wish.payload != wish.payload:
                raise Conflict
            if known:
                found.append((known[0].number, False))
                continue
            due = self.now + timedelta(seconds=wish.delay)
            added.append(Job(number=len(self.jobs) + len(added), wish=wish, scheduled_at=due))
            found.append((added[-1].number, True))
        self.jobs += added
        return found

    def claim(self, limit: int, *, cap: int | None = None) -> Found:
        """A cap is on the first of the types."""
        leaving_out = self._types[:1] if cap == 0 else ()
        self._looks += 1
        waiting = [job for job in self._waiting() if job.wish.type not in leaving_out]
        ready = sorted((job for job in waiting if job.scheduled_at <= self.now), key=lambda job: job.rank)
        due = [job for job in ready if not job.suspect]
        if not due:
            return Found([], more=False, next_due_in=self._next_due_in(leaving_out))
        share = min((self._owed + limit) // 4, limit)
        share = share if share >= min(limit, 8) else 0
        ring = sorted(self._round(due, share), key=_age)
        oldest = [min(due, key=_age)] if self._looks % 8 == 1 else []
        numbers = list(dict.fromkeys(job.number for job in [*ring, *oldest, *due]))
        due = [self.jobs[number] for number in numbers]
        if cap is not None:
            capped = [job for job in due if job.wish.type == self._types[0]]
            due = [job for job in due if job not in capped[cap:]]
        taken = due[:limit]
        self._owed = max(0, self._owed + len(taken) - 4 * share)
        taken.sort(key=lambda job: (job not in ring, job not in oldest, job.rank))
        return Found([self._begin(job) for job in taken], more=len(due) > limit, next_due_in=None)

    def claim_suspect(self) -> Found:
        """By whoever has the watch, which they take where there is one to be had."""
        due = [job for job in self._waiting() if job.suspect and job.scheduled_at <= self.now]
        first = sorted(due, key=lambda job: job.rank)[:1]
        return Found([self._begin(job) for job in first], more=False, next_due_in=None)

    def _begin(self, job: Job) -> Claimed:
        claimed = Claimed(self._claims, job.number, job.attempts + 1, job.snoozes)
        job.status, job.claim, job.lease_until, job.stage = (
            "RUNNING",
            self._claims,
            self.now + self._lease,
            None,
        )
        job.attempts += 1
        self._claims += 1
        return claimed

    def _round(self, due: list[Job], share: int) -> list[Job]:
        """One tenant after the other gives one job; nobody has more weight than others."""
        picked: list[Job] = []
        while len(picked) < min(share, len(due)):
            place = self._tenants.index(self._ring_at)
            self._ring_at = self._tenants[(place + 1) % len(self._tenants)]
            picked += [job for job in due if job not in picked and job.wish.tenant == self._ring_at][:1]
        return picked

    def _next_due_in(self, leaving_out: tuple[str, ...]) -> float | None:
        """Even if it is a paused tenant's: that is found out when it is due."""
        later = [
            job.scheduled_at - self.now
            for job in self._mine()
            if job.scheduled_at > self.now
            and not job.suspect
            and job.wish.type not in leaving_out
            and not self._paused(job, "queue", "type")
        ]
        return min(later).total_seconds() if later else None

    def _mine(self) -> list[Job]:
        return [
            job
            for job in self.jobs
            if job.status == "QUEUED" and job.wish.type in self._types and job.wish.queue in self._queues
        ]

    def _waiting(self) -> list[Job]:
        """What this worker may claim sooner or later."""
        return [job for job in self._mine() if not self._paused(job, "queue", "type", "tenant")]

    def _paused(self, job: Job, *kinds: str) -> bool:
        names = {"queue": job.wish.queue, "type": job.wish.type, "tenant": str(job.wish.tenant)}
        pauses = [self.pauses[kind, names[kind]] for kind in kinds if (kind, names[kind]) in self.pauses]
        return any(pause.expires_at is None or pause.expires_at > self.now for pause in pauses)

    def renew(self, claims: list[tuple[int, int]], stage: str) -> dict[int, str]:
        """By (claim, job): what became of each claim."""
        fates = {}
        for claim, number in claims:
            job = self.jobs[number]
            if job.claim != claim or (job.lease_until is not None and job.lease_until <= self.now):
                fates[claim] = "lost"
            elif job.lease_until is None:
                fates[claim] = "settled"
            else:
                job.lease_until, job.stage = max(job.lease_until, self.now + self._lease), stage
                fates[claim] = "cancel" if job.cancel_requested else "renewed"
        return fates

    def settle(self, claim: int, number: int, end: Settlement, *, repeated: bool = True) -> str | None:
        """The status; None where the claim is lost, or ended already and that is not `repeated`."""
        job = self.jobs[number]
        if job.claim != claim:
            return None
        if job.lease_until is None:
            return job.status if repeated else None
        status = str(end.status)
        if status in ("QUEUED", "DEAD_LETTER") and job.cancel_requested:
            status = "CANCELLED"
        elif status == "QUEUED" and job.attempts - end.refund >= job.wish.max_attempts:
            status = "DEAD_LETTER"
        if status == "SUCCEEDED":
            job.fail_code = None
        elif end.error is not None:
            job.fail_code = end.error.code
        job.attempts, job.snoozes = job.attempts - end.refund, end.snoozes
        job.end_lease(status, self.now, end.delay_seconds)
        events = {"CANCELLED": "job:cancelled", "DEAD_LETTER": "job:dead_lettered", "SUCCEEDED": None}
        event = events.get(status, end.event)
        job.events += [event] if event is not None else []
        return status

    def begin(self, claims: list[tuple[int, int]]) -> list[int]:
        """By (claim, job): those that are still held."""
        begun = [claim for claim, number in claims if self._is_held(claim, number)]
        for claim, number in claims:
            if claim in begun:
                self.jobs[number].begun = claim
        return begun

    def cancel_requested(self, claims: list[tuple[int, int]]) -> list[int]:
        return [
            claim
            for claim, number in claims
            if self._is_held(claim, number) and self.jobs[number].cancel_requested
        ]

    def _is_held(self, claim: int, number: int) -> bool:
        return self.jobs[number].claim == claim and self.jobs[number].lease_until is not None

    def reap(self, backoff: Backoff, *, dice: float) -> list[tuple[int, str, int]]:
        """Of each its number, its status, and the attempt at which its holder was lost."""
        found = []
        for job in self.jobs:
            if job.lease_until is None or job.lease_until > self.now:
                continue
            attempt, given_back = job.attempts, job.never_begun
            left = attempt - given_back < job.wish.max_attempts
            status = "CANCELLED" if job.cancel_requested else "QUEUED" if left else "DEAD_LETTER"
            job.attempts -= given_back
            job.snoozes = job.snoozes + 1 if given_back else 0
            job.fail_code, job.claim = job.fail_code if given_back else "LEASE_EXPIRED", None
            tries = job.snoozes if given_back else attempt
            job.end_lease(status, self.now, backoff.after(tries, dice=dice))
            events = {"QUEUED": "reaper:requeued", "CANCELLED": "job:cancelled"}
            job.events.append(events.get(status, "reaper:dead_lettered"))
            found.append((job.number, status, attempt))
        return found

    def cancel(self, number: int) -> str:
        job = self.jobs[number]
        if job.status == "QUEUED":
            job.status, job.cancel_requested = "CANCELLED", True
            job.events.append("job:cancelled")
        elif job.status == "RUNNING":
            job.cancel_requested = True
            job.events.append("job:cancel_requested")
        return job.status

    def failed(self) -> list[int]:
        """What may be queued again or discarded by hand."""
        return [job.number for job in self.jobs if job.status in ("DEAD_LETTER", "FAILED")]

    def requeue(self, number: int, *, keep_attempts: bool) -> None:
        job = self.jobs[number]
        if not keep_attempts or job.attempts >= job.wish.max_attempts:
            job.attempts = 0
        job.status, job.snoozes, job.scheduled_at = "QUEUED", 0, self.now
        job.fail_code = job.claim = job.stage = None
        job.cancel_requested = False
        job.events.append("job:requeued")

    def discard(self, number: int) -> None:
        self.jobs[number].status = "CANCELLED"
        self.jobs[number].events.append("job:cancelled")


def _key(wish: Wish) -> Key | None:
    return None if wish.key is None else (wish.tenant, wish.type, wish.key)


def _age(job: Job) -> tuple[datetime, int]:
    return job.scheduled_at, job.number
