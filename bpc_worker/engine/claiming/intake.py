"""What this process takes in next: slots, rate limits, claims ahead, ends that go with a claim."""

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, Protocol

from bpc_worker.engine.claiming.caution import Caution
from bpc_worker.engine.claiming.rate_limits import RateLimits
from bpc_worker.engine.claiming.slots import Claimed, ClaimsAhead, Slots
from bpc_worker.engine.clock import Clock
from bpc_worker.engine.handler_thread import LazyEvent
from bpc_worker.engine.health import Health
from bpc_worker.engine.outage_log import warn
from bpc_worker.engine.settler import End, Settler
from bpc_worker.engine.wake import Wake
from bpc_worker.jobs.errors import JobError, Unavailable
from bpc_worker.jobs.model import Claim, Released, Status
from bpc_worker.jobs.store import CLAIM_BYTES, Caps, ClaimSource, ClaimTerms, Look
from bpc_worker.observability import log

_log = log.get("runner")

_GATHER_SECONDS = 0.0005
_MAX_EMPTY_CLAIMS = 3  # in a row that saw jobs and got none: others are quicker, or keep them locked


class ClaimMetrics(Protocol):
    def looked(self) -> None: ...

    def passed_over(self, count: int) -> None: ...

    def claim_failed(self, code: str) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class IntakeParts:
    """What the intake works with."""

    store: ClaimSource
    settler: Settler
    slots: Slots  # of jobs whose handler has not ended; the others wait for their end to be durable
    rate_limits: RateLimits | None  # None: no type of job has one
    wake: Wake
    health: Health
    metrics: ClaimMetrics
    clock: Clock
    claim_bytes: int = CLAIM_BYTES  # of payloads, that claimed jobs may hold here


class ClaimBatch(NamedTuple):
    """What a look brought."""

    claims: Sequence[Claimed] = ()  # that begin now
    written: Sequence[End] = ()  # ends that are durable by it
    more: bool = False  # there may be: look again at once
    failed: bool = False  # an error was the answer
    look_again_in: float = math.inf  # when something may be there that was not, or had no token yet
    answered: bool = False  # else nothing could be asked for
    found_nothing: bool = False  # although there was room
    nothing_left: bool = False  # that is due, here or in the hands of others


class _Answer(NamedTuple):
    """To a claim that was sent at that moment."""

    look: Look
    written: Sequence[End]
    sent_at: float
    fresh: bool
    expected_free_slots: int  # which the next claim may count on


class Intake:
    def __init__(self, parts: IntakeParts, *, poll_seconds: float, stuck: asyncio.Event) -> None:
        self._parts = parts
        self._slots = parts.slots
        self._ahead = ClaimsAhead(parts.slots, parts.clock)
        self._poll_seconds = poll_seconds
        self._stuck = stuck  # the process is about to end: what it gave back is not for itself
        self._handlers_blocked = False
        self._held = 0  # claimed, and no end of it durable yet
        self._held_bytes = 0  # of their payloads
        self._caution = Caution(parts.clock)
        self._failed = False  # the last claim
        self._claim_took = 0.0
        self._going_back: set[LazyEvent] = set()
        self._fresh_at = -math.inf
        self._empty_claims = 0  # in a row
        self._looked_everywhere = False  # since the last rest
        self._under_way: asyncio.Task[_Answer | None] | None = None

    @property
    def claim_under_way(self) -> bool:
        return self._under_way is not None

    def note_handlers(self, *, blocked: bool) -> None:
        """While a handler does not give their loop back there is no room; then somebody has to look again."""
        if self._handlers_blocked and not blocked:
            self._parts.wake.ring("slot")
        self._handlers_blocked = blocked

    def look_everywhere(self) -> None:
        """The next claim passes nothing over that the last ones found empty."""
        self._fresh_at = -math.inf

    async def next_batch(self) -> ClaimBatch:
        """The next claim goes out before the jobs of this one begin, to save time."""
        under_way = self._under_way or asyncio.create_task(self._claim(ahead=0))
        self._under_way = None
        answer = await under_way
        if answer is None:
            self._empty_claims, self._looked_everywhere = 0, False
            return ClaimBatch(failed=self._failed)
        starting = self._ahead.start_now([Claimed(claim, answer.sent_at) for claim in answer.look.claims])
        more = await self._go_on(answer)
        nothing = not answer.look.claims
        return ClaimBatch(
            claims=starting,
            written=answer.written,
            more=more,
            look_again_in=self._look_again_in(answer.look),
            answered=True,
            found_nothing=nothing and self._room > 0,
            nothing_left=nothing and not answer.look.more,
        )

    async def _go_on(self, answer: _Answer) -> bool:
        """Whether there is more to ask for at once; most often the next claim is on its way then."""
        self._empty_claims = 0 if answer.look.claims else self._empty_claims + 1
        self._looked_everywhere |= answer.fresh
        expected = answer.expected_free_slots
        is_enough = not answer.look.more or self._empty_claims > _MAX_EMPTY_CLAIMS
        if not is_enough and self._reach(expected)[0] > 0:
            self._under_way = asyncio.create_task(self._claim(ahead=expected))
            await asyncio.sleep(0)  # by now it is sent
            return True
        looked_everywhere, self._empty_claims, self._looked_everywhere = self._looked_everywhere, 0, False
        if looked_everywhere or self._room <= 0:
            return False
        self.look_everywhere()  # what was passed over comes before a rest
        return True

    @property
    def _room(self) -> int:
        return self._expected_room(0)

    def _expected_room(self, ahead: int) -> int:
        """How many jobs a claim may bring, with so many slots that should be free when it is answered."""
        if self._closed:
            return 0
        return self._slots.room(self._held, ahead)

    def _reach(self, ahead: int) -> tuple[int, Caps]:
        """How many jobs a claim may bring, and of which types. Who waits for others has slots of its own."""
        room = self._expected_room(ahead)
        if room > 0 or self._closed:
            return min(room, self._ahead.by_halves or room), self._slots.caps
        return self._slots.io_bound_only

    @property
    def _closed(self) -> bool:
        return self._stuck.is_set() or self._parts.health.draining or self._handlers_blocked

    @property
    def _poll_is_due(self) -> bool:
        return self._parts.clock() - self._fresh_at >= self._poll_seconds

    def _look_again_in(self, look: Look) -> float:
        limits = self._parts.rate_limits
        times = (look.next_due_in, None if limits is None else limits.wait_seconds)
        return min((each for each in times if each is not None), default=math.inf)

    async def _claim(self, *, ahead: int) -> _Answer | None:
        """None when nothing could be asked for."""
        parts = self._parts
        self._failed = False
        parts.health.want_claim(room=self._expected_room(ahead) > 0)
        try:
            await self._gather(ahead)
            await parts.store.release_unconfirmed_claims()
            limit, room = self._reach(ahead)
            if limit <= 0 or not parts.health.may_claim:
                return None
            fresh, sent_at, caps = self._poll_is_due, parts.clock(), room
            if parts.rate_limits is not None:
                nothing = await parts.rate_limits.empty_look()
                if nothing is not None:
                    parts.health.note_claim()
                    return _Answer(nothing, (), sent_at, fresh, 0)
                caps = await parts.rate_limits.caps(room, limit)
            sent_at = parts.clock()
            if fresh:
                self._fresh_at = sent_at
            parts.metrics.looked()
            look, written = await self._claim_with_ends(limit, fresh=fresh, caps=caps, ahead=ahead > 0)
        except JobError as error:
            self._note_failure(error)
            return None
        if self._caution.failures:
            self._caution.answered()
        self._claim_took = parts.clock() - sent_at
        if look.passed_over:
            parts.health.passed_over_at = parts.clock()
            parts.metrics.passed_over(look.passed_over)
        parts.health.note_claim()
        look, expected_free_slots = self._take(look, room, sent_at)
        if parts.rate_limits is not None:
            await parts.rate_limits.record_claim(look.claims)
        return _Answer(look, written, sent_at, fresh, expected_free_slots)

    def _note_failure(self, error: JobError) -> None:
        self._failed = True
        self._caution.failed()
        self._parts.health.note_database(error)
        self._parts.metrics.claim_failed(error.sqlstate or error.code)
        warn(_log, "claim_failed", error)

    async def _gather(self, ahead: int) -> None:
        """Where claims go by halves, short jobs would come by a few at a time: wait for half of the slots,
        but no longer than a claim takes.
        """
        ends_at = self._parts.clock() + self._claim_took
        while not ahead and 0 < self._room < self._ahead.by_halves:
            await asyncio.sleep(_GATHER_SECONDS)
            if self._parts.clock() >= ends_at:
                return

    def _take(self, look: Look, caps: Caps, sent_at: float) -> tuple[Look, int]:
        """Its claims have their slots from now on. How many more should be free at the next answer."""
        has_room, expected = self._ahead.take(look.claims, caps, sent_at)
        self._held += len(look.claims)
        self._held_bytes += sum(claim.payload_bytes for claim in look.claims)
        if has_room:
            look = replace(look, more=True)
        return look, expected

    async def _claim_with_ends(
        self, limit: int, *, fresh: bool, caps: Caps, ahead: bool
    ) -> tuple[Look, Sequence[End]]:
        """Take jobs, and have written by the same statement how others ended."""
        settler = self._parts.settler
        if self._caution.careful:
            terms = ClaimTerms(careful=True)
            return await self._parts.store.claim(limit=1, fresh=fresh, caps=caps, terms=terms), ()
        terms = ClaimTerms(ahead=ahead, most_bytes=self._parts.claim_bytes - self._held_bytes)
        with settler.ends_for_next_claim() as riding:
            ends = [(end.claim, end.settlement) for end in riding]
            try:
                look = await self._parts.store.claim(
                    limit=limit, fresh=fresh, caps=caps, ends=ends, terms=terms
                )
            except BaseException as error:
                settler.retry_unconfirmed(riding)
                if riding and not isinstance(error, Unavailable):
                    self._parts.wake.ring("slot")  # perhaps one of them is to blame: ask again without them
                raise
        if look.ended:
            return look, riding
        settler.retry_unconfirmed(riding)
        return look, ()

    def leave_slot(self, claim: Claim) -> list[Claimed]:
        """Its handler is through. Those that came early and begin in its place."""
        left = self._ahead.leave(claim.type, self._held)
        if left.uncapped or (left.has_room and not self._closed):
            self._parts.wake.ring("slot")
        return left.starting

    def finished(self, claim: Claim) -> None:
        """Its end is durable, or it is somebody else's."""
        was_full = self._room <= 0
        self._held -= 1
        self._held_bytes -= claim.payload_bytes
        if was_full:
            self._parts.wake.ring("slot")

    def give_back_early(self, *, at_once: bool = False) -> None:
        """Those that came early and have waited for a slot for too long: others may have one."""
        leaving = self._ahead.expire(at_once=at_once)
        if leaving:
            _log.info("jobs_released", count=len(leaving))
            self.look_everywhere()  # they are back where claims no longer look
        for claim in leaving:
            back = LazyEvent()
            self._going_back.add(back)
            self._parts.settler.add(claim, Released(), partial(self._went_back, claim, back))

    def _went_back(self, claim: Claim, back: LazyEvent, _: Status | None) -> None:
        self._going_back.discard(back)
        back.set()
        self.finished(claim)

    @property
    def going_back(self) -> list[asyncio.Future[None]]:
        """Of those that came early and got no slot: done when their end is durable."""
        return [back.future for back in self._going_back]
