"""Try again what failed for a while: which errors, how often, with what pauses in between."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, wait_random_exponential

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """Chance is in every pause, so that those who failed together do not meet again."""

    when: Callable[[BaseException], bool]
    first_pause: float  # seconds at the most; the next ones grow twofold,
    longest_pause: float  # up to this
    tries: int | None = None  # None: until it works, or fails in another way
    uncounted: Callable[[BaseException], bool] | None = None  # what is waited out, however long it takes
    before_pause: Callable[[BaseException], None] | None = None

    async def run(self, work: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """What `work` returns in the end; else its last error, as it was raised."""
        retrying = AsyncRetrying(
            retry=retry_if_exception(self.when),
            wait=wait_random_exponential(multiplier=self.first_pause, max=self.longest_pause),
            stop=self._is_enough,
            before_sleep=self._told,
            reraise=True,
        )
        result: T = await retrying(work, *args, **kwargs)
        return result

    def _is_enough(self, state: RetryCallState) -> bool:
        if self.uncounted is not None and self.uncounted(_error(state)):
            return False
        return self.tries is not None and state.attempt_number >= self.tries

    def _told(self, state: RetryCallState) -> None:
        if self.before_pause is not None:
            self.before_pause(_error(state))


def _error(state: RetryCallState) -> BaseException:
    error = None if state.outcome is None else state.outcome.exception()
    return error or AssertionError("unreachable: only what failed is tried again")
