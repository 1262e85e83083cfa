"""All jobs that run in this process: begin them, stop what takes too long, end them all in good order."""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Protocol

from bpc_worker.engine.claiming.intake import Intake
from bpc_worker.engine.claiming.slots import Claimed
from bpc_worker.engine.lease import StopReason
from bpc_worker.engine.running_job import JobParts, RunningJob
from bpc_worker.engine.wake import Wake
from bpc_worker.observability import log
from bpc_worker.registry import Registry

_log = log.get("runner")

_WATCH_SECONDS = 0.25


class FollowUpMetrics(Protocol):
    def produced(self, queue: str, job_type: str) -> None: ...


class RunningJobs:
    def __init__(
        self,
        parts: JobParts,
        intake: Intake,
        registry: Registry,
        wake: Wake,
        metrics: FollowUpMetrics,
        *,
        notify_other_workers: Callable[[str | None], None],  # with the trace that new jobs belong to
        stuck: asyncio.Event,
    ) -> None:
        self._parts = parts
        self._intake = intake
        self._registry = registry
        self._wake = wake
        self._metrics = metrics
        self._notify_other_workers = notify_other_workers
        self.stuck = stuck
        self._jobs: set[RunningJob] = set()

    @property
    def busy(self) -> int:
        return len(self._jobs)

    @property
    def inside_time_outs(self) -> bool:
        """Whether some job is running that has not used up its time; one yet to begin excuses nobody."""
        return any(job.has_begun and job.in_time for job in self._jobs)

    def start(self, claims: Iterable[Claimed]) -> None:
        beginners = []
        for claimed in claims:
            job = RunningJob(self._registry[claimed.claim.type], claimed, self._parts, self)
            self._jobs.add(job)
            if job.begins_in_store:
                beginners.append(job)
        self._parts.handlers.start_prepared()
        if beginners:
            self._parts.beginnings.add(beginners)

    def finished(self, job: RunningJob) -> None:
        self._jobs.discard(job)
        self._intake.finished(job.claim)
        for follow_up in job.follow_ups:
            self._metrics.produced(follow_up.queue or "default", follow_up.type)
        if job.follow_ups:
            self._wake.ring("follow_up")
            self._notify_other_workers(job.traceparent)

    async def any_finished(self) -> None:
        await asyncio.wait({job.done.future for job in self._jobs}, return_when=asyncio.FIRST_COMPLETED)

    async def watch(self) -> None:
        """Stop, for ever, what takes too long. One look at all is cheaper than a timer for each."""
        while True:
            self.stop_timed_out()
            await asyncio.sleep(_WATCH_SECONDS)

    def stop_timed_out(self) -> None:
        self._intake.give_back_early()
        for job in tuple(self._jobs):
            if not job.in_time and not job.has_ended:
                job.stop(StopReason.TIMEOUT)  # refused while a settle is on its way: next time
        blocked = self._parts.handlers.blocked
        self._intake.note_handlers(blocked=blocked)
        if blocked:
            self._give_back_unstarted()

    def _give_back_unstarted(self) -> None:
        given_back = sum(job.give_back_unless_started() for job in tuple(self._jobs))
        if given_back:
            _log.warning("jobs_released", count=given_back, reason="a handler blocks the others")

    async def drain(self, *, grace: float, hurry: asyncio.Event) -> None:
        """Let running jobs finish for `grace` seconds or until told to hurry; then give them back."""
        self._intake.give_back_early(at_once=True)
        if self._jobs:
            hurried = asyncio.ensure_future(hurry.wait())
            stuck = asyncio.ensure_future(self.stuck.wait())
            finished = asyncio.ensure_future(self._all_ended())
            waiting = {hurried, stuck, finished}
            await asyncio.wait(waiting, timeout=grace, return_when=asyncio.FIRST_COMPLETED)
            for each in waiting:
                each.cancel()
        for job in tuple(self._jobs):
            job.stop(StopReason.SHUTDOWN)

    async def _all_ended(self) -> None:
        while unsettled := {*self._intake.going_back, *(job.done.future for job in self._jobs)}:
            await asyncio.wait(unsettled)

    async def ended(self, *, within: float) -> bool:
        """Whether all of them are, in that time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                await self._all_ended()
        return not self._jobs and not self._intake.going_back

    async def abandon(self, *, within: float) -> None:
        """The handlers' loop is stuck: give back every job but the one that blocks it, waiting for none."""
        jobs = tuple(self._jobs)
        guilty = [job for job in jobs if job.is_stuck]
        if self._parts.handlers.blocked:  # by whom? where it cannot be told, everybody pays the attempt
            guilty = [job for job in jobs if job.blocks_the_loop] or list(jobs)
        releases = [  # one whose handler has ended is being settled already
            job.done.future if job.has_ended else asyncio.ensure_future(job.give_back())
            for job in jobs
            if job not in guilty
        ] + self._intake.going_back
        if releases:
            _log.warning("jobs_released", count=len(releases))
            await asyncio.wait(releases, timeout=within)
