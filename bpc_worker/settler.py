"""Write how an attempt ended, and do not give up before the row says so. The seam for settling in groups."""

from collections.abc import Callable

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, wait_random_exponential

from bpc_worker import log
from bpc_worker.jobs.errors import Code, JobError, Retryable, RunAgain, Unavailable
from bpc_worker.jobs.model import Claim, ErrorInfo, Failed, Settleable, Status
from bpc_worker.jobs.settlement import Settlement
from bpc_worker.ports import JobStore

_log = log.get("settler")


_MOST_REFUSALS = 5


def _never_while_it_is_away(state: RetryCallState) -> bool:
    """The outcome is known, so an outage or a locked row is waited for; other refusals only a few times."""
    error = state.outcome.exception() if state.outcome is not None else None
    return not isinstance(error, Unavailable | RunAgain) and state.attempt_number >= _MOST_REFUSALS


class Settler:
    def __init__(
        self,
        store: JobStore,
        settlement: Callable[[Claim, Settleable], Settlement],
        *,
        on_database: Callable[[JobError | None], None],
    ) -> None:
        self._store = store
        self._settlement = settlement
        self._on_database = on_database

    async def settle(self, claim: Claim, outcome: Settleable) -> Status | None:
        """The status that is durable now; None when the lease was lost and nothing was written."""
        try:
            return await self._write(claim, self._settlement(claim, outcome))
        except JobError as error:  # PostgreSQL refuses the result itself
            refused = ErrorInfo(Code.VALIDATION_ERROR, f"the result cannot be stored: {error.message}", False)
            return await self._write(claim, self._settlement(claim, Failed(refused)))

    async def _write(self, claim: Claim, settlement: Settlement) -> Status | None:
        async for attempt in AsyncRetrying(
            retry=retry_if_exception_type(Retryable),
            stop=_never_while_it_is_away,
            wait=wait_random_exponential(multiplier=0.1, max=3.0),
            reraise=True,
            before_sleep=self._note,
        ):
            with attempt:
                status = await self._store.settle(claim, settlement)
                self._on_database(None)
                return status
        raise AssertionError("unreachable: tenacity returns or raises")

    def _note(self, state: RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome is not None else None
        if isinstance(error, JobError):
            self._on_database(error)
            _log.warning("settle_waits", error_code=error.code, error_message=error.message)
