"""Keep leases alive outside the handlers' event loop, and stop a handler whose lease cannot be proven."""

import asyncio
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

from bpc_worker.engine.clock import Clock, seconds_since_boot
from bpc_worker.engine.outage_log import warn
from bpc_worker.jobs.errors import JobError, LeaseLost, Permanent, Unavailable
from bpc_worker.jobs.model import Claim, Fate, LeaseToken
from bpc_worker.jobs.store import Heartbeat, JobStore, Renewal
from bpc_worker.observability import log

_log = log.get("lease")

_CANCEL_SECONDS = 1.0  # between two questions
_YOUNG = 0.2  # who has been held for less is not asked about: most jobs never get that old


class StopReason(StrEnum):
    TIMEOUT = "timeout"
    SHUTDOWN = "shutdown"
    CANCEL = "cancel"
    LOST = "lost"
    UNPROVEN = "unproven"


class Lease:
    """One claim in this process, seen by two threads: the one that runs it and the one that keeps it."""

    def __init__(
        self,
        claim: Claim,
        *,
        proven_until: float,
        on_stop: Callable[[], None] | None = None,
        clock: Clock = seconds_since_boot,
    ) -> None:
        self.claim = claim
        self.held_since = clock()
        self.proven_until = proven_until
        self.stage: str | None = None
        self.progress: str | None = None
        self._on_stop = on_stop
        self._clock = clock
        self.stopped: StopReason | None = None
        self._settling = False
        self.may_be_settled = False
        self._lock = threading.Lock()

    def stop(self, reason: StopReason) -> bool:
        """Ask the handler to stop; refused once a settle is on its way: that one decides."""
        with self._lock:
            if self._settling or self.stopped is not None:
                return False
            self.stopped = reason
        if self._on_stop is not None:
            self._on_stop()
        return True

    def drop(self) -> None:
        """Nobody keeps it any longer, and nobody is told when it is stopped: break the reference cycle."""
        self._on_stop = None

    def begin_settle(self) -> bool:
        """From here on nobody stops the handler; False when somebody already has."""
        with self._lock:
            self._settling = self.may_be_settled = self.stopped is None
            return self._settling

    def end_settle(self) -> None:
        """The settle is through or rolled back: from here on the handler can be stopped again."""
        with self._lock:
            self._settling = False

    def check(self) -> None:
        if self.stopped is not None:
            raise LeaseLost(f"stopped: {self.stopped}")
        if self._clock() >= self.proven_until:
            raise LeaseLost("the lease may have ended")

    @property
    def provable(self) -> bool:
        return self.stopped is None and self._clock() < self.proven_until

    def heartbeat(self) -> Heartbeat:
        return Heartbeat(self.claim.job_id, self.claim.lease_token, self.stage, self.progress)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseTiming:
    lease_seconds: float
    renew_seconds: float

    @property
    def margin(self) -> float:
        """How long before its possible end a handler is stopped."""
        return min(5.0, self.lease_seconds / 6)

    def retry_after(self, dice: float) -> float:
        """1 to 3 seconds, less for leases that could not afford it."""
        return min(1 + 2 * dice, self.lease_seconds / 6)


class LeaseKeeper:
    """Renews everything that is held in one statement, and fences what cannot be renewed in time."""

    def __init__(
        self,
        store: JobStore,
        timing: LeaseTiming,
        *,
        dice: Callable[[], float],
        on_renewed: Callable[[int], None],
        on_database: Callable[[JobError | None], None],
        clock: Clock = seconds_since_boot,
    ) -> None:
        self._store = store
        self._timing = timing
        self._dice = dice
        self._on_renewed = on_renewed
        self._on_database = on_database
        self._clock = clock
        self._held: dict[LeaseToken, Lease] = {}
        self._changed = asyncio.Event()

    def hold(self, claim: Claim, *, sent_at: float, on_stop: Callable[[], None]) -> Lease:
        """`on_stop` is called once, when somebody stops it, as long as it is held."""
        proven_until = sent_at + self._timing.lease_seconds
        holding = Lease(claim, proven_until=proven_until, on_stop=on_stop, clock=self._clock)
        self._held[claim.lease_token] = holding
        self._changed.set()
        return holding

    def drop(self, holding: Lease) -> None:
        self._held.pop(holding.claim.lease_token, None)
        holding.drop()

    @property
    def held(self) -> tuple[Lease, ...]:
        return tuple(self._held.values())

    async def keep(self) -> None:
        """Renew for ever: every `renew_seconds`, and soon again after a failure or a locked row."""
        while True:
            started = self._clock()
            again_in = await self._renew_all()
            await asyncio.sleep(max(0.0, started + again_in - self._clock()))

    async def _renew_all(self) -> float:
        holdings = self.held
        if not holdings:
            return await self._until_something_is_held()
        sent_at = self._clock()
        try:
            renewal = await self._renew(holdings)
        except JobError as error:
            self._on_database(error)
            warn(_log, "renewal_failed", error)
            return self._timing.retry_after(self._dice())
        self._on_database(None)
        self._on_renewed(len(renewal.renewed))
        return self._apply(holdings, renewal, proven_until=sent_at + self._timing.lease_seconds)

    async def _renew(self, holdings: Iterable[Lease]) -> Renewal:
        try:
            return await self._store.renew([holding.heartbeat() for holding in holdings])
        except Permanent as error:  # somebody's progress cannot be stored, which must cost nobody his lease
            _log.warning("progress_refused", error_code=error.code, error_message=error.message)
            for holding in holdings:
                holding.stage = holding.progress = None
            return await self._store.renew([holding.heartbeat() for holding in holdings])

    async def _until_something_is_held(self) -> float:
        self._changed.clear()
        await self._changed.wait()
        return self._timing.renew_seconds

    def _apply(self, holdings: Iterable[Lease], renewal: Renewal, *, proven_until: float) -> float:
        again_in = self._timing.renew_seconds
        for holding in holdings:
            token = holding.claim.lease_token
            if token in renewal.renewed:
                holding.proven_until = proven_until
                if token in renewal.cancel_requested:
                    holding.stop(StopReason.CANCEL)
            elif renewal.missing.get(token) is Fate.LOST:
                holding.stop(StopReason.LOST)
            elif renewal.missing.get(token) is Fate.SETTLED and not holding.may_be_settled:
                holding.stop(StopReason.LOST)  # not by us: somebody took its lease off by hand
            elif renewal.missing.get(token) is Fate.LOCKED:
                again_in = min(again_in, 1.0)
        return again_in

    async def watch_cancels(self) -> None:
        """Stop, for ever, what somebody wants cancelled: the renewals would tell, but they are far apart."""
        while True:
            await asyncio.sleep(_CANCEL_SECONDS)
            grown_up = self._clock() - _YOUNG
            if asked := [holding for holding in self.held if holding.held_since <= grown_up]:
                await self._stop_cancelled(asked)

    async def _stop_cancelled(self, holdings: Iterable[Lease]) -> None:
        try:
            cancelled = await self._store.cancel_requested([holding.claim for holding in holdings])
        except JobError as error:  # the question comes again
            self._on_database(error)
            if not isinstance(error, Unavailable):  # of outages the renewal tells
                _log.warning("cancel_check_failed", error_code=error.code, error_message=error.message)
            return
        self._on_database(None)
        for holding in holdings:
            if holding.claim.lease_token in cancelled:
                holding.stop(StopReason.CANCEL)

    async def fence(self) -> None:
        """Stop, for ever, every handler whose lease could end before it is renewed."""
        while True:
            now = self._clock()
            for holding in self.held:
                if now >= holding.proven_until - self._timing.margin and holding.stop(StopReason.UNPROVEN):
                    _log.warning("lease_renewal_overdue", job_id=str(holding.claim.job_id))
            await asyncio.sleep(min(0.25, self._timing.margin / 4))
