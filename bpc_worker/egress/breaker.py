"""A circuit breaker per target: after too many failures nobody calls for a while, then one call decides.

Of this process alone, and without IO: the time is given. Whoever gets a call tells how it ended, or that it
cannot be told; a call that is never heard of again stands in nobody's way for longer than its deadline.
"""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum

from bpc_worker.jobs.errors import Code, LeaseLost, Permanent, Retryable, RunAgain, Snooze, Unavailable

_MOST_TARGETS = 1000
_SHORTEST_SNOOZE = 1.0


class State(IntEnum):
    """As the gauge shows it."""

    CLOSED = 0
    HALF_OPEN = 1
    OPEN = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerRules:
    failure_threshold: float = 0.5
    window: float = 60.0
    cooldown_period: float = 30.0
    min_samples: int = 10
    half_open_probes: int = 1

    @property
    def probe_deadline(self) -> float:
        """After which a probe without an answer makes room for another one."""
        return self.cooldown_period


@dataclass(frozen=True, slots=True, eq=False)  # two calls of the same moment are two calls
class Call:
    """The permission to call once."""

    began_at: float


class Breaker:
    def __init__(self, rules: BreakerRules) -> None:
        self._rules = rules
        self._ends: deque[tuple[float, bool]] = deque()  # when, and whether it was a failure
        self._failures = 0
        self._calls: set[Call] = set()  # whose end counts: of the time since the state last changed
        self._opened_at = 0.0
        self.state = State.CLOSED

    def ask(self, now: float) -> Call | float:
        """A call to be made, or for how many seconds there is none."""
        if self.state is State.OPEN:
            rest = self._opened_at + self._rules.cooldown_period - now
            if rest > 0:
                return rest
            self._go(State.HALF_OPEN)
        if self.state is State.HALF_OPEN:
            self._calls = {probe for probe in self._calls if self._deadline(probe) > now}
            if len(self._calls) >= self._rules.half_open_probes:
                return min(map(self._deadline, self._calls)) - now
        call = Call(now)
        self._calls.add(call)
        return call

    def ended(self, call: Call, now: float, *, failed: bool | None) -> None:
        """How a call ended; None: it says nothing about the target. A call of an earlier state is too old."""
        if call not in self._calls:
            return
        self._calls.discard(call)
        if failed is None:
            return
        if self.state is State.HALF_OPEN:
            self._go(State.OPEN if failed else State.CLOSED, now)
            return
        self._ends.append((now, failed))
        self._failures += failed
        self._forget_before(now - self._rules.window)
        enough = len(self._ends) >= self._rules.min_samples
        if failed and enough and self._failures >= self._rules.failure_threshold * len(self._ends):
            self._go(State.OPEN, now)

    def is_idle(self, now: float) -> bool:
        """Whether a new one would do the same."""
        self._forget_before(now - self._rules.window)
        return self.state is State.CLOSED and not self._ends and not self._calls

    def _deadline(self, probe: Call) -> float:
        return probe.began_at + self._rules.probe_deadline

    def _forget_before(self, then: float) -> None:
        while self._ends and self._ends[0][0] <= then:
            self._failures -= self._ends.popleft()[1]

    def _go(self, state: State, now: float = 0.0) -> None:
        self.state = state
        self._calls.clear()
        self._ends.clear()
        self._failures = 0
        if state is State.OPEN:
            self._opened_at = now


class Breakers:
    """Of every target the one breaker, used from the handlers' loop alone."""

    def __init__(
        self,
        rules: BreakerRules,
        *,
        clock: Callable[[], float],
        on_state: Callable[[str, State], None] = lambda _target, _state: None,
    ) -> None:
        self._rules = rules
        self._clock = clock
        self._on_state = on_state
        self._by_target: dict[str, dict[str, Breaker]] = {}

    @contextmanager
    def guard(self, target: str, *, code: str, key: str = "") -> Iterator[None]:
        """Around a call to `target`. Raises Snooze with `code` while nobody may call.

        Who shares a target without sharing its fate says a `key`; the state told of a target is its worst.

        A Retryable or a time-out counts as the target's failure. A permanent error is an answer: the target
        lives. A cancellation, a lost lease, an address that may not be called or a database that is away says
        nothing about it.
        """
        breaker = self._breaker(target, key)
        call = breaker.ask(self._clock())
        self._tell(target)
        if not isinstance(call, Call):
            seconds = max(_SHORTEST_SNOOZE, call)
            raise Snooze(seconds, code, f"{target} has failed too often: not called for {seconds:.0f} s")
        failed: bool | None = None
        try:
            yield
            failed = False
        except (Unavailable, RunAgain, Snooze, LeaseLost):
            raise
        except Permanent as error:
            failed = None if error.code == Code.WEBHOOK_BLOCKED else False
            raise
        except (Retryable, TimeoutError):
            failed = True
            raise
        finally:
            breaker.ended(call, self._clock(), failed=failed)
            self._tell(target)

    def _tell(self, target: str) -> None:
        states = (breaker.state for breaker in self._by_target.get(target, {}).values())
        self._on_state(target, max(states, default=State.CLOSED))

    def _breaker(self, target: str, key: str) -> Breaker:
        found = self._by_target.get(target, {}).get(key)
        if found is None:
            if sum(map(len, self._by_target.values())) >= _MOST_TARGETS:
                self._forget_idle()
            found = self._by_target.setdefault(target, {})[key] = Breaker(self._rules)
        return found

    def _forget_idle(self) -> None:
        now = self._clock()
        for target, breakers in [*self._by_target.items()]:
            kept = {key: breaker for key, breaker in breakers.items() if not breaker.is_idle(now)}
            self._by_target[target] = kept
            if not kept:
                del self._by_target[target]
