"""Random histories of a queue: every step is taken by all stores and by the model, and all must agree."""

from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from bpc_worker.jobs.backoff import Backoff
from bpc_worker.jobs.errors import Code
from bpc_worker.jobs.model import Settleable, TenantId
from bpc_worker.jobs.store import Heartbeat, Pause, PauseKind
from bpc_worker.testing import NOON
from tests.support.history_words import (
    DONE,
    LEASE_SECONDS,
    SETTINGS,
    TENANTS,
    Side,
    Taken,
    difference,
    enqueue_one,
    fates,
    found_in,
    new_job,
    numbers,
    outcomes,
    pausable,
    queued_in,
    resume_in,
    row_of_model,
    row_of_store,
    wishes,
)
from tests.support.queue_model import Claimed, Conflict, QueueModel, Wish
from tests.support.stores import settled

T = TypeVar("T")

_MOST_PAUSES = 2  # else soon nothing is claimed any more


class Histories(RuleBasedStateMachine):
    """Subclasses say which stores take part, and who runs what is async."""

    def __init__(self) -> None:
        super().__init__()
        self.model = QueueModel(NOON, SETTINGS, TENANTS)
        self.taken = [Taken(side) for side in self.sides()]
        self.claims: list[Claimed] = []

    def sides(self) -> list[Side]:
        raise NotImplementedError

    def run(self, work: Coroutine[object, object, T]) -> T:
        raise NotImplementedError

    def agree(self, expected: object, step: Callable[[Taken], Coroutine[object, object, object]]) -> None:
        for taken in self.taken:
            found = self.run(step(taken))
            assert found == expected, f"{type(taken.side).__name__}: {found} is not {expected}"

    @initialize(some=st.lists(wishes, min_size=2, max_size=4))
    def begin(self, some: list[Wish]) -> None:
        self.enqueue_many(some=some, tenant=TENANTS[1])

    @rule(wish=wishes)
    def enqueue(self, wish: Wish) -> None:
        async def enqueue(taken: Taken) -> object:
            return await queued_in(taken, enqueue_one(taken.side.store, wish))

        self.agree(self._expected([wish]), enqueue)

    @rule(some=st.lists(wishes, max_size=4), tenant=st.sampled_from(TENANTS))
    def enqueue_many(self, some: list[Wish], tenant: TenantId) -> None:
        async def enqueue_many(taken: Taken) -> object:
            return await queued_in(
                taken, taken.side.store.enqueue_many(tenant, [new_job(wish) for wish in some])
            )

        self.agree(self._expected([replace(wish, tenant=tenant) for wish in some]), enqueue_many)

    def _expected(self, some: list[Wish]) -> object:
        try:
            return self.model.enqueue(some)
        except Conflict:
            return Code.IDEMPOTENCY_CONFLICT

    @rule(
        limit=st.integers(1, 4),
        cap=st.sampled_from([None, None, 0, 1, 2]),
        ending=st.lists(numbers, max_size=3),
    )
    def claim(self, limit: int, cap: int | None = None, ending: Sequence[int] = ()) -> None:
        """It takes some successes along."""
        chosen = self._chosen(ending) if self.claims else []
        ends = {number: settled(self.taken[0].claims[number], DONE) for number in chosen}
        written = [
            self.model.settle(number, self.claims[number].job, end, repeated=False)
            for number, end in ends.items()
        ]
        expected = self.model.claim(limit, cap=cap)
        caps = {} if cap is None else {frozenset(SETTINGS.types[:1]): cap}
        self.claims += expected.claims

        async def claim(taken: Taken) -> object:
            ended = [(taken.claims[number], settled(taken.claims[number], DONE)) for number in chosen]
            look = await taken.side.store.claim(limit=limit, caps=caps, ends=ended)
            taken.claims += look.claims
            return look.ended, found_in(taken, look)

        self.agree((None not in written, expected), claim)

    @rule()
    def claim_suspect(self) -> None:
        expected = self.model.claim_suspect()
        self.claims += expected.claims

        async def claim(taken: Taken) -> object:
            watched = await taken.side.store.watch_suspects("watcher")
            look = await taken.side.store.claim_suspect("watcher")
            taken.claims += look.claims
            return watched, found_in(taken, look)

        self.agree((bool(expected.claims), expected), claim)

    @rule(some=st.lists(outcomes, min_size=1, max_size=4))
    def claim_and_settle(self, some: list[Settleable]) -> None:
        first = len(self.claims)
        self.claim(limit=len(some))
        for number, outcome in zip(range(first, len(self.claims)), some, strict=False):
            self.settle(number=number, outcome=outcome)

    @precondition(lambda self: self.claims)
    @rule(some=st.lists(numbers, min_size=1, max_size=4), stage=st.sampled_from(["one", "two"]))
    def renew(self, some: list[int], stage: str) -> None:
        chosen = self._chosen(some)

        async def renew(taken: Taken) -> object:
            claims = {number: taken.claims[number] for number in chosen}
            beats = [Heartbeat(claim.job_id, claim.lease_token, stage) for claim in claims.values()]
            return fates(claims, await taken.side.store.renew(beats))

        self.agree(self.model.renew([(number, self.claims[number].job) for number in chosen], stage), renew)

    @precondition(lambda self: self.claims)
    @rule(some=st.lists(numbers, min_size=1, max_size=4))
    def begin_claims(self, some: list[int]) -> None:
        chosen = self._chosen(some)

        async def begin(taken: Taken) -> object:
            begun = await taken.side.store.begin([taken.claims[number] for number in chosen])
            return [number for number in chosen if taken.claims[number].lease_token in begun]

        self.agree(self.model.begin([(number, self.claims[number].job) for number in chosen]), begin)

    @precondition(lambda self: self.claims)
    @rule(some=st.lists(numbers, min_size=1, max_size=4))
    def ask_for_cancels(self, some: list[int]) -> None:
        chosen = self._chosen(some)

        async def ask(taken: Taken) -> object:
            told = await taken.side.store.cancel_requested([taken.claims[number] for number in chosen])
            return [number for number in chosen if taken.claims[number].lease_token in told]

        self.agree(self.model.cancel_requested([(number, self.claims[number].job) for number in chosen]), ask)

    @precondition(lambda self: self.claims)
    @rule(number=numbers, outcome=outcomes)
    def settle(self, number: int, outcome: Settleable) -> None:
        [number] = self._chosen([number])
        claim = self.taken[0].claims[number]
        expected = self.model.settle(number, self.claims[number].job, settled(claim, outcome))

        async def settle(taken: Taken) -> object:
            claim = taken.claims[number]
            return await taken.side.store.settle(claim, settled(claim, outcome))

        self.agree(expected, settle)

    @precondition(lambda self: self.claims)
    @rule(ends=st.lists(st.tuples(numbers, outcomes), min_size=1, max_size=4))
    def settle_group(self, ends: list[tuple[int, Settleable]]) -> None:
        chosen = {self._chosen([number])[0]: outcome for number, outcome in ends}
        first = self.taken[0].claims
        expected: dict[int, str] = {}
        for number, outcome in chosen.items():
            end = settled(first[number], outcome)
            status = self.model.settle(number, self.claims[number].job, end, repeated=False)
            expected |= {number: status} if status is not None else {}

        async def settle_group(taken: Taken) -> object:
            claims = {taken.claims[number]: number for number in chosen}
            group = [(claim, settled(claim, chosen[number])) for claim, number in claims.items()]
            answer = await taken.side.store.settle_group(group)
            return {
                number: answer[claim.lease_token]
                for claim, number in claims.items()
                if claim.lease_token in answer
            }

        self.agree(expected, settle_group)

    @rule(seconds=st.sampled_from([1.0, 2.5, 10.0, 30.0, LEASE_SECONDS]))
    def time_goes_by(self, seconds: float) -> None:
        self.model.now += timedelta(seconds=seconds)
        for taken in self.taken:
            taken.side.move_clock(self.model.now)

    @precondition(lambda self: self.claims)
    @rule()
    def reap(self) -> None:
        expected = self.model.reap(Backoff(), dice=0.5)
        jobs = self.model.jobs
        due = {  # what never began has been put off, and all others begin to count that anew
            number: Backoff().after(jobs[number].snoozes or attempt, dice=0)
            for number, status, attempt in expected
            if status == "QUEUED"
        }

        async def reap(taken: Taken) -> object:
            reaped = await taken.side.store.reap()
            taken.side.after_reap(
                {taken.jobs[number]: (self.model.now, delay) for number, delay in due.items()}
            )
            return sorted((taken.jobs.index(each.job_id), each.status, each.attempt) for each in reaped)

        self.agree(expected, reap)

    @precondition(lambda self: self.model.jobs)
    @rule(times=st.integers(1, 3), begun=st.booleans())
    def claim_and_die(self, times: int, begun: bool) -> None:  # noqa: FBT001 - drawn by name
        for _ in range(times):
            first = len(self.claims)
            self.claim(limit=2)
            if begun and len(self.claims) > first:
                self.begin_claims(some=list(range(first, len(self.claims))))
            self.claim_suspect()
            self.time_goes_by(LEASE_SECONDS)
            self.reap()
            self.time_goes_by(10.0)

    @precondition(lambda self: len(self.model.pauses) < _MOST_PAUSES)
    @rule(what=pausable, seconds=st.sampled_from([None, 5.0, 60.0]))
    def pause(self, what: tuple[PauseKind, str], seconds: float | None) -> None:
        expires_at = None if seconds is None else self.model.now + timedelta(seconds=seconds)
        pause = Pause(kind=what[0], name=what[1], reason="told to", expires_at=expires_at)
        self.model.pauses[what] = pause
        self.agree(None, lambda taken: taken.side.store.pause(pause))

    @precondition(lambda self: self.model.pauses)
    @rule(number=numbers, what=pausable)
    def resume(self, number: int, what: tuple[PauseKind, str]) -> None:
        kind, name = list(self.model.pauses)[number % len(self.model.pauses)]
        for named in ((PauseKind(kind), name), what):
            expected = self.model.pauses.pop(named, None) is not None
            self.agree(expected, partial(resume_in, *named))

    @precondition(lambda self: self.model.jobs)
    @rule(number=numbers)
    def cancel(self, number: int) -> None:
        job = number % len(self.model.jobs)
        self.agree(self.model.cancel(job), lambda taken: taken.side.cancel(taken.jobs[job]))

    @precondition(lambda self: self.model.failed())
    @rule(number=numbers, keep_attempts=st.booleans())
    def requeue(self, number: int, keep_attempts: bool) -> None:  # noqa: FBT001 - drawn by name
        failed = self.model.failed()
        job = failed[number % len(failed)]
        self.model.requeue(job, keep_attempts=keep_attempts)
        self.agree(None, lambda taken: taken.side.requeue(taken.jobs[job], keep_attempts=keep_attempts))

    @precondition(lambda self: self.model.failed())
    @rule(number=numbers)
    def discard(self, number: int) -> None:
        failed = self.model.failed()
        job = failed[number % len(failed)]
        self.model.discard(job)
        self.agree(None, lambda taken: taken.side.discard(taken.jobs[job]))

    @invariant()
    def all_rows_are_the_same(self) -> None:
        expected = [row_of_model(job) for job in self.model.jobs]
        for taken in self.taken:
            tokens: dict[object, int] = {
                claim.lease_token: number for number, claim in enumerate(taken.claims)
            }
            found = [row_of_store(row, tokens) for row in taken.side.rows()]
            assert found == expected, f"{type(taken.side).__name__}: {difference(found, expected)}"

    def _chosen(self, some: Iterable[int]) -> list[int]:
        """Each claim once."""
        return list(dict.fromkeys(number % len(self.claims) for number in some))
