"""The loop: look, take what fits, wait for a reason to look again."""

import asyncio
import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, Protocol

from bpc_worker.engine.claiming.ahead import Claimed, Early
from bpc_worker.engine.claiming.rate_limits import Throttle
from bpc_worker.engine.claiming.slots import Slots
from bpc_worker.engine.handler_thread import HandlerLoop
from bpc_worker.engine.health import Health
from bpc_worker.engine.lazy_event import Once
from bpc_worker.engine.lease import StopReason
from bpc_worker.engine.running_job import Job, Supervisor
from bpc_worker.engine.settler import End, Settler
from bpc_worker.engine.wake import Wake
from bpc_worker.jobs.errors import JobError, Unavailable
from bpc_worker.jobs.model import Claim, Released, Status
from bpc_worker.jobs.store import Caps, JobStore, Look
from bpc_worker.observability import log
from bpc_worker.registry import Registry

_log = log.get("runner")

_BETWEEN_EMPTY_LOOKS = 0.05  # at most twenty looks a second, however loud the bell
_TIME_OUT_STEP = 0.25
_MOST_FRUITLESS = 3  # looks in a row that saw jobs and got none: others are quicker, or keep them locked
_SMALLEST_HALF = 32  # of all slots, for which a claim of its own pays
_OUTSIDERS = frozenset({"amqp", "notify"})


class RunnerMetrics(Protocol):
    def looked(self) -> None: ...

    def woken(self, source: str) -> None: ...

    def slots(self, in_use: int) -> None: ...

    def produced(self, queue: str, job_type: str) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    poll_seconds: float
    job_timeout_seconds: float
    suspect_check_seconds: float
    spread: Callable[[float, float], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What the loop works with."""

    store: JobStore
    supervisor: Supervisor
    settler: Settler
    handlers: HandlerLoop
    registry: Registry
    slots: Slots  # of jobs whose handler has not ended; the others wait for their end to be durable
    throttle: Throttle
    wake: Wake
    health: Health
    metrics: RunnerMetrics
    tell_others: Callable[[str | None], None]  # with the trace that the new jobs belong to


class _Brought(NamedTuple):
    """By a claim that was sent at that moment."""

    look: Look
    boarded: list[End]  # whose ends it was to write
    sent_at: float
    ahead: int  # slots that the next claim may count on


class Runner:
    def __init__(self, parts: Parts, pace: Pace, *, stuck: asyncio.Event) -> None:
        self._parts = parts
        self._pace = pace
        self.stuck = stuck  # a handler ignores its cancellation: the process has to end
        self._jobs: set[Job] = set()
        self._coming = 0  # claimed, and not begun yet
        self._early = Early(parts.slots)
        self._going_back: set[Once] = set()  # came early, and got no slot
        self._suspect: Job | None = None
        self._emptying_for_suspect = False
        self._suspect_checked_at = time.monotonic()
        self._fresh_at = -math.inf

    @property
    def busy(self) -> int:
        return len(self._jobs)

    async def run(self, stop: asyncio.Event) -> None:
        """Until told to stop. Jobs that are running then go on: `drain` ends them."""
        fresh = True
        rung = frozenset({"start"})
        while not stop.is_set():
            look = await self._look_while_there_is_more(stop, fresh=fresh)
            if look is not None and not fresh and self._free > 0:
                fresh = True  # what was passed over comes before a rest
                continue
            if look is not None and not look.claims and rung & _OUTSIDERS and self._free > 0:
                await self._parts.wake.pause(_BETWEEN_EMPTY_LOOKS, ignoring=_OUTSIDERS)
            rung = await self._wait(look)
            fresh = bool(rung != {"slot"} or self._poll_is_due)

    async def _look_while_there_is_more(self, stop: asyncio.Event, *, fresh: bool) -> Look | None:
        """The last look. The next claim goes out before the jobs of the last one begin, to save time."""
        fruitless = 0
        brought = await self._ask(fresh=fresh)
        while brought is not None:
            fruitless = 0 if brought.look.claims else fruitless + 1
            is_enough = not brought.look.more or fruitless > _MOST_FRUITLESS or stop.is_set()
            if is_enough or self._room(brought.ahead) <= 0:
                self._begin(brought)
                return brought.look
            asking = asyncio.create_task(self._ask(fresh=self._poll_is_due, ahead=brought.ahead))
            await asyncio.sleep(0)  # by now it is sent
            self._begin(brought)
            brought = await asking
        return None

    async def run_until_empty(self, stop: asyncio.Event) -> None:
        """Until nothing is due and nothing runs."""
        while not stop.is_set():
            brought = await self._ask(fresh=True)
            look = None if brought is None else brought.look
            if brought is not None:
                self._begin(brought)
            if self._jobs:
                await asyncio.wait(
                    {job.finished.future for job in self._jobs}, return_when=asyncio.FIRST_COMPLETED
                )
            elif look is None or self._parts.throttle.wait_seconds is not None:
                await self._wait(look)
            elif not look.claims and not look.more:
                return
            elif not look.claims:
                await asyncio.sleep(_BETWEEN_EMPTY_LOOKS)

    @property
    def _free(self) -> int:
        return self._room(0)

    def _room(self, ahead: int) -> int:
        """How many jobs a claim may bring, with so many slots that should be free when it is answered."""
        if self.stuck.is_set():  # the process is about to end: what it gave back is not for itself
            return 0
        if self._jobs and (self._emptying_for_suspect or self._suspect is not None):
            return 0
        # What waits to be settled takes no slot; but were the database slow, it must not pile up.
        slots = self._parts.slots
        held = len(self._jobs) - slots.outside + self._coming
        return min(slots.free + ahead, 2 * (slots.count + ahead) - held)

    @property
    def _poll_is_due(self) -> bool:
        return time.monotonic() - self._fresh_at >= self._pace.poll_seconds

    async def _wait(self, look: Look | None) -> frozenset[str]:
        """Until somebody rings, the next job falls due, or a poll interval is over."""
        at_most = self._pace.spread(self._pace.poll_seconds, 0.1)
        due_in = self._due_in(look)
        is_due_first = due_in < at_most
        rung = await self._parts.wake.wait(at_most=min(due_in, at_most))
        for source in rung or (("due",) if is_due_first else ("poll",)):
            self._parts.metrics.woken(source)
        return rung

    def _due_in(self, look: Look | None) -> float:
        """When there may be something to take that was not there at the look, or had no token yet."""
        if look is None:
            return math.inf
        times = (look.next_due_in, self._parts.throttle.wait_seconds)
        return min((each for each in times if each is not None), default=math.inf)

    async def _ask(self, *, fresh: bool, ahead: int = 0) -> _Brought | None:
        """What there was; None when nothing could be asked for."""
        try:
            await self._parts.store.undo_unheard_claims()
            if self._jobs:
                await self._mind_suspects()
            most = ahead or max(_SMALLEST_HALF, -(-self._parts.slots.count // 2))
            asked = min(self._room(ahead), most)
            if asked <= 0 or not self._parts.health.may_claim:
                return None
            nothing = await self._parts.throttle.empty_look()
            if nothing is not None:
                self._parts.health.note_claim()
                return _Brought(nothing, [], time.monotonic(), 0)
            room = self._parts.slots.caps
            caps = await self._parts.throttle.caps(room, asked)
            sent_at = time.monotonic()
            if fresh:
                self._fresh_at = sent_at
            self._parts.metrics.looked()
            look, boarded = await self._claim(asked, fresh=fresh, caps=caps)
        except JobError as error:
            self._parts.health.note_database(error)
            _log.warning("look_failed", error_code=error.code, error_message=error.message)
            return None
        self._parts.health.note_claim()
        slots_by_then = self._early.slots_by_then(sent_at)
        for claim in look.claims:
            self._parts.slots.take(claim.type)
        self._coming += len(look.claims)
        has_room = self._parts.slots.answered(room, [claim.type for claim in look.claims])
        if has_room and not any(claim.suspect for claim in look.claims):  # beside which nothing is claimed
            look = replace(look, more=True)
        await self._parts.throttle.looked(look.claims)
        return _Brought(look, boarded, sent_at, slots_by_then)

    def _begin(self, brought: _Brought) -> None:
        """Start the jobs that a claim has brought; then tell of those whose end it has written."""
        self._coming -= len(brought.look.claims)
        for claimed in self._early.now(Claimed(claim, brought.sent_at) for claim in brought.look.claims):
            self._start(*claimed)
        self._parts.handlers.to_handlers.wake()
        self._parts.metrics.slots(self._parts.slots.taken)
        settler = self._parts.settler
        (settler.arrived if brought.look.ended else settler.missed)(brought.boarded)

    async def _claim(self, limit: int, *, fresh: bool, caps: Caps) -> tuple[Look, list[End]]:
        """Take jobs, and have written by the same statement how others ended."""
        settler, idle = self._parts.settler, not (self._jobs or self._coming or self._going_back)
        with settler.boarding() as boarded:
            ends = [(end.claim, end.settlement) for end in boarded]
            try:
                look = await self._parts.store.claim(
                    limit=limit, idle=idle, fresh=fresh, caps=caps, ends=ends
                )
            except BaseException as error:
                settler.missed(boarded)
                if boarded and not isinstance(error, Unavailable):
                    self._parts.wake.ring("slot")  # perhaps one of them is to blame: ask again without them
                raise
        return look, boarded

    async def _mind_suspects(self) -> None:
        """A worker that is never idle empties itself when a suspect has waited too long."""
        now = time.monotonic()
        if now - self._suspect_checked_at < self._pace.suspect_check_seconds:
            return
        self._suspect_checked_at = now
        self._emptying_for_suspect = await self._parts.store.suspect_waiting()

    def _start(self, claim: Claim, sent_at: float) -> None:
        job = self._parts.supervisor.start(
            self._parts.registry[claim.type],
            claim,
            sent_at=sent_at,
            timeout=self._pace.job_timeout_seconds,
            on_finished=self._finished,
        )
        self._jobs.add(job)
        if claim.suspect:
            self._suspect = job
        job.running.on_ended = partial(self._handled, job)

    def _handled(self, job: Job) -> None:
        """Its handler is through, and leaves its slot to the next."""
        was_full = self._free <= 0
        makes_room = self._parts.slots.leave(job.holding.claim.type)
        for claimed in self._early.next():
            self._start(*claimed)
            self._parts.handlers.to_handlers.wake()
        self._parts.supervisor.ended(job)
        if (was_full and self._free > 0) or makes_room:
            self._parts.wake.ring("slot")

    def _finished(self, job: Job) -> None:
        was_full = self._free <= 0
        self._jobs.discard(job)
        if job is self._suspect:
            self._suspect = None
        if not self._jobs:
            if self._emptying_for_suspect:
                self._emptying_for_suspect = False
                self._fresh_at = -math.inf  # the suspect is not where the last jobs were found
            self._parts.metrics.slots(0)
        if was_full:
            self._parts.wake.ring("slot")
        for follow_up in job.context.follow_ups:
            self._parts.metrics.produced(follow_up.queue or "default", follow_up.type)
        if job.context.follow_ups:
            self._parts.wake.ring("follow_up")
            self._parts.tell_others(job.span.traceparent)

    def _give_back(self, came_early: Sequence[Claimed]) -> None:
        if came_early:
            _log.info("jobs_released", count=len(came_early))
            self._fresh_at = -math.inf  # they are back where claims no longer look
        for claimed in came_early:
            back = Once()
            self._going_back.add(back)
            self._parts.settler.add(claimed.claim, Released(), partial(self._went_back, back))

    def _went_back(self, back: Once, _: Status | None) -> None:
        self._going_back.discard(back)
        back.happen()

    async def watch_time_outs(self) -> None:
        """Stop, for ever, what takes too long. One look at all is cheaper than a timer for each."""
        while True:
            self._give_back(self._early.leave())
            for job in tuple(self._jobs):
                if not job.in_time and not job.running.ended.happened:
                    job.holding.stop(StopReason.TIMEOUT)  # refused while a settle is on its way: next time
            await asyncio.sleep(_TIME_OUT_STEP)

    @property
    def inside_time_outs(self) -> bool:
        """Whether some job is running that has not used up its time."""
        return any(job.in_time for job in self._jobs)

    async def drain(self, *, grace: float, hurry: asyncio.Event) -> None:
        """Let running jobs finish for `grace` seconds or until told to hurry; then give them back."""
        self._give_back(self._early.leave(patience=0))
        if self._jobs:
            hurried = asyncio.ensure_future(hurry.wait())
            stuck = asyncio.ensure_future(self.stuck.wait())
            finished = asyncio.ensure_future(self._all_ended())
            waiting = {hurried, stuck, finished}
            await asyncio.wait(waiting, timeout=grace, return_when=asyncio.FIRST_COMPLETED)
            for each in waiting:
                each.cancel()
        for job in tuple(self._jobs):
            job.holding.stop(StopReason.SHUTDOWN)

    async def _all_ended(self) -> None:
        while unsettled := {
            each.future for each in self._going_back.union(job.finished for job in self._jobs)
        }:
            await asyncio.wait(unsettled)

    async def ended(self, *, within: float) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                await self._all_ended()
        return not self._jobs and not self._going_back

    async def abandon(self, *, within: float) -> None:
        """The handlers' loop is stuck: give back every job but the one that blocks it, waiting for none."""
        jobs = tuple(self._jobs)
        guilty = [job for job in jobs if job.stuck]
        if self._parts.handlers.blocked:  # by whom? where it cannot be told, everybody pays the attempt
            guilty = [job for job in jobs if job.running.blocks_the_loop] or list(jobs)
        releases = [  # one whose handler has ended is being settled already
            job.finished.future
            if job.running.ended.happened
            else asyncio.ensure_future(self._parts.supervisor.give_back(job))
            for job in jobs
            if job not in guilty
        ] + [each.future for each in self._going_back]
        if releases:
            _log.warning("jobs_released", count=len(releases))
            await asyncio.wait(releases, timeout=within)
