"""The breaker: what it lets through, and that nothing can wedge it."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpc_worker.egress.breaker import Breaker, BreakerRules, Breakers, Call, State
from bpc_worker.jobs.errors import Code, LeaseLost, Permanent, Retryable, Snooze, Unavailable

RULES = BreakerRules(failure_threshold=0.5, window=60, cooldown_period=30, min_samples=4)


def call(breaker: Breaker, now: float) -> Call:
    found = breaker.ask(now)
    assert isinstance(found, Call)
    return found


def opened(rules: BreakerRules = RULES, at: float = 0.0) -> Breaker:
    breaker = Breaker(rules)
    for _ in range(rules.min_samples):
        breaker.ended(call(breaker, at), at, failed=True)
    assert breaker.state is State.OPEN
    return breaker


def test_it_opens_by_the_share_of_failures_and_not_before_there_are_enough() -> None:
    breaker = Breaker(RULES)
    for failed in (False, False, True):
        breaker.ended(call(breaker, 0), 0, failed=failed)
    before = breaker.state
    breaker.ended(call(breaker, 1), 1, failed=True)

    assert (before, breaker.state) == (State.CLOSED, State.OPEN)


def test_failures_older_than_the_window_do_not_count() -> None:
    breaker = Breaker(RULES)
    for _ in range(3):
        breaker.ended(call(breaker, 0), 0, failed=True)
    breaker.ended(call(breaker, 60), 60, failed=True)

    assert breaker.state is State.CLOSED


def test_while_open_it_says_how_long_it_will_be() -> None:
    breaker = opened(at=100)

    assert breaker.ask(110) == 20


def test_after_the_cooldown_one_call_decides() -> None:
    for failed, state in ((True, State.OPEN), (False, State.CLOSED)):
        breaker = opened()
        probe = call(breaker, 30)
        assert breaker.state is State.HALF_OPEN
        assert breaker.ask(31) == 29  # until the probe's deadline

        breaker.ended(probe, 40, failed=failed)

        assert breaker.state is state
        assert breaker.ask(41) == 29 if failed else isinstance(breaker.ask(41), Call)


def test_a_probe_that_never_answers_makes_room_at_its_deadline() -> None:
    breaker = opened()
    lost = call(breaker, 30)
    call(breaker, 60)
    breaker.ended(lost, 61, failed=True)  # long given up

    assert breaker.state is State.HALF_OPEN


def test_a_probe_that_was_cancelled_makes_room_at_once() -> None:
    breaker = opened()
    breaker.ended(call(breaker, 30), 31, failed=None)

    assert isinstance(breaker.ask(31), Call)


def test_a_call_from_before_it_opened_says_nothing_about_now() -> None:
    breaker = Breaker(RULES)
    late = call(breaker, 0)
    for _ in range(4):
        breaker.ended(call(breaker, 0), 0, failed=True)
    call(breaker, 30)
    breaker.ended(late, 31, failed=False)

    assert breaker.state is State.HALF_OPEN


@dataclass
class Model:
    """The same in the plainest words: everything is remembered, and counted anew at each question."""

    rules: BreakerRules
    era: int = 0
    state: State = State.CLOSED
    opened_at: float = 0.0
    ends: list[tuple[int, float, bool]] = field(default_factory=list)
    begun: dict[int, tuple[int, float]] = field(default_factory=dict)

    def go(self, state: State, now: float) -> None:
        self.state, self.era = state, self.era + 1
        if state is State.OPEN:
            self.opened_at = now

    def ask(self, number: int, now: float) -> float | None:
        rules = self.rules
        if self.state is State.OPEN:
            if now < self.opened_at + rules.cooldown_period:
                return self.opened_at + rules.cooldown_period - now
            self.go(State.HALF_OPEN, now)
        if self.state is State.HALF_OPEN:
            ends = [at + rules.probe_deadline for era, at in self.begun.values() if era == self.era]
            awaited = [at for at in ends if at > now]
            if len(awaited) >= rules.half_open_probes:
                return min(awaited) - now
            self.begun = {
                key: (era, at)
                for key, (era, at) in self.begun.items()
                if era != self.era or at + rules.probe_deadline > now
            }
        self.begun[number] = (self.era, now)
        return None

    def ended(self, number: int, now: float, *, failed: bool | None) -> None:
        era, _ = self.begun.pop(number, (-1, 0.0))
        if era != self.era or failed is None:
            return
        if self.state is State.HALF_OPEN:
            self.go(State.OPEN if failed else State.CLOSED, now)
            return
        self.ends.append((self.era, now, failed))
        seen = [bad for era, at, bad in self.ends if era == self.era and at > now - self.rules.window]
        if (
            failed
            and len(seen) >= self.rules.min_samples
            and sum(seen) / len(seen) >= self.rules.failure_threshold
        ):
            self.go(State.OPEN, now)


_rules = st.builds(
    BreakerRules,
    failure_threshold=st.sampled_from([0.25, 0.5, 0.75, 1.0]),
    window=st.sampled_from([5.0, 60.0]),
    cooldown_period=st.sampled_from([3.0, 30.0]),
    min_samples=st.integers(1, 4),
    half_open_probes=st.integers(1, 3),
)
_step = st.tuples(
    st.sampled_from([0.0, 1.0, 2.0, 7.0, 31.0]),  # time that passes
    st.one_of(st.none(), st.tuples(st.integers(0, 5), st.sampled_from([True, True, False, None]))),
)


@given(_rules, st.lists(_step, max_size=60))
def test_it_does_what_the_plain_model_does(
    rules: BreakerRules, steps: list[tuple[float, tuple[int, bool | None] | None]]
) -> None:
    breaker, model, now = Breaker(rules), Model(rules), 0.0
    calls: list[tuple[int, Call]] = []
    for number, (passed, end) in enumerate(steps):
        now += passed
        if end is None:
            asked, expected = breaker.ask(now), model.ask(number, now)
            if isinstance(asked, Call):
                assert expected is None
                calls.append((number, asked))
            else:
                assert asked == expected
                assert 0 < asked <= rules.cooldown_period
        elif calls:
            which, begun = calls.pop(end[0] % len(calls))
            breaker.ended(begun, now, failed=end[1])
            model.ended(which, now, failed=end[1])
        assert breaker.state is model.state


@given(_rules, st.lists(_step, max_size=40))
def test_whatever_happened_it_lets_somebody_through_after_a_while(
    rules: BreakerRules, steps: list[tuple[float, tuple[int, bool | None] | None]]
) -> None:
    breaker, now = Breaker(rules), 0.0
    calls: list[Call] = []
    for passed, end in steps:
        now += passed
        if end is None:
            asked = breaker.ask(now)
            calls += [asked] if isinstance(asked, Call) else []
        elif calls:
            breaker.ended(calls.pop(end[0] % len(calls)), now, failed=end[1])

    assert isinstance(breaker.ask(now + rules.cooldown_period), Call)


@dataclass
class Watch:
    now: float = 0.0
    seen: list[tuple[str, State]] = field(default_factory=list)

    def last(self) -> State:
        return self.seen[-1][1]

    def breakers(self) -> Breakers:
        return Breakers(RULES, clock=lambda: self.now, on_state=lambda *told: self.seen.append(told))


def _fails(breakers: Breakers, error: Callable[[], BaseException], target: str = "a.example") -> None:
    made = error()
    with pytest.raises(type(made)), breakers.guard(target, code=Code.WEBHOOK_FAILED):
        raise made


def test_while_open_its_jobs_snooze_for_the_rest_of_the_cooldown() -> None:
    watch = Watch()
    breakers = watch.breakers()
    for _ in range(4):
        _fails(breakers, lambda: Retryable(Code.WEBHOOK_FAILED, "503"))
    watch.now = 10

    with pytest.raises(Snooze) as snooze, breakers.guard("a.example", code=Code.WEBHOOK_FAILED):
        pytest.fail("called")
    assert (snooze.value.seconds, snooze.value.code) == (20, "WEBHOOK_FAILED")
    assert watch.seen[-1] == ("a.example", State.OPEN)
    with breakers.guard("b.example", code=Code.WEBHOOK_FAILED):  # another target is another matter
        pass


@pytest.mark.parametrize(
    "error",
    [
        asyncio.CancelledError,
        lambda: LeaseLost("somebody else's"),
        lambda: Permanent(Code.WEBHOOK_BLOCKED, "an address of our own"),  # nobody was called
        lambda: Unavailable(Code.DB_UNAVAILABLE, "away"),
        lambda: ValueError("a bug of ours"),
    ],
)
def test_what_says_nothing_about_the_target_neither_opens_nor_closes(
    error: Callable[[], BaseException],
) -> None:
    watch = Watch()
    breakers = watch.breakers()
    for _ in range(20):
        _fails(breakers, error)
    assert watch.last() is State.CLOSED

    for _ in range(4):
        _fails(breakers, TimeoutError)
    watch.now = 30
    _fails(breakers, error)

    assert watch.last() is State.HALF_OPEN
    with breakers.guard("a.example", code=Code.WEBHOOK_FAILED):  # and nobody has to wait for it
        pass
    assert watch.last() is State.CLOSED


def test_a_permanent_answer_shows_that_the_target_lives() -> None:
    watch = Watch()
    breakers = watch.breakers()
    for _ in range(5):
        _fails(breakers, lambda: Permanent(Code.WEBHOOK_GONE, "410"))
    for _ in range(4):
        _fails(breakers, TimeoutError)
    assert watch.last() is State.CLOSED, "four failures of nine calls"
    _fails(breakers, TimeoutError)
    assert watch.last() is State.OPEN

    watch.now = 30
    _fails(breakers, lambda: Permanent(Code.WEBHOOK_GONE, "410"))
    assert watch.last() is State.CLOSED


# How a call can end, and what that says of the target: None, nothing.
_ENDS: dict[str, tuple[Callable[[], BaseException] | None, bool | None]] = {
    "answered": (None, False),
    "gone": (lambda: Permanent(Code.WEBHOOK_GONE, "410"), False),
    "failed": (lambda: Retryable(Code.WEBHOOK_FAILED, "503"), True),
    "timed out": (TimeoutError, True),
    "cancelled": (asyncio.CancelledError, None),
    "blocked": (lambda: Permanent(Code.WEBHOOK_BLOCKED, "an address of our own"), None),
    "database away": (lambda: Unavailable(Code.DB_UNAVAILABLE, "away"), None),
    "a bug": (lambda: ValueError("of ours"), None),
}


@given(_rules, st.lists(st.tuples(st.sampled_from([0.0, 1.0, 7.0, 31.0]), st.sampled_from(sorted(_ENDS)))))
def test_the_guard_does_what_the_plain_model_does(
    rules: BreakerRules, steps: list[tuple[float, str]]
) -> None:
    watch, model = Watch(), Model(rules)
    breakers = Breakers(rules, clock=lambda: watch.now, on_state=lambda *told: watch.seen.append(told))
    for number, (passed, how) in enumerate(steps):
        watch.now += passed
        error, failed = _ENDS[how]
        expected = model.ask(number, watch.now)
        called = False
        with suppress(BaseException), breakers.guard("a.example", code=Code.WEBHOOK_FAILED):
            called = True
            if error is not None:
                raise error()
        assert called is (expected is None)
        if called:
            model.ended(number, watch.now, failed=failed)
        assert watch.last() is model.state


def test_targets_that_nobody_calls_any_more_are_forgotten() -> None:
    watch = Watch()
    breakers = watch.breakers()
    for number in range(1500):
        watch.now += 1
        with breakers.guard(f"{number}.example", code=Code.WEBHOOK_FAILED):
            pass

    assert len(breakers._by_target) <= 1000


def test_who_shares_a_target_does_not_share_its_fate_and_the_worst_state_is_told() -> None:
    watch = Watch()
    breakers = watch.breakers()
    for _ in range(4):
        with pytest.raises(TimeoutError), breakers.guard("a.example", code=Code.WEBHOOK_FAILED, key="one"):
            raise TimeoutError
    with breakers.guard("a.example", code=Code.WEBHOOK_FAILED, key="two"):
        pass

    assert watch.seen[-1] == ("a.example", State.OPEN)
    with pytest.raises(Snooze), breakers.guard("a.example", code=Code.WEBHOOK_FAILED, key="one"):
        pytest.fail("called")
