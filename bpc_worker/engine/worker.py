"""Start the background tasks of a worker, keep them going, and stop them in the right order."""

import asyncio
import math
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NoReturn, Protocol

from bpc_worker.engine.clock import Clock, seconds_since_boot
from bpc_worker.engine.health import Health
from bpc_worker.engine.outage_log import OutageLog
from bpc_worker.engine.wake import Wake
from bpc_worker.jobs.errors import Code, JobError, SchemaMismatch, TakesNoWrites
from bpc_worker.observability import log

_log = log.get("engine")

_TICK_SECONDS = 1.0
_PULSE_SECONDS = 5.0
_GIVE_BACK_SECONDS = 3.5  # both fit into the five seconds after the grace
_ABANDON_SECONDS = 1.0
_GRANT = "GRANT bpc_worker TO it"

Task = asyncio.Task[None]


class SchemaRefusedError(Exception):
    """The schema does not fit this release; the message says what to run."""


class ClaimLoop(Protocol):
    """Looks for jobs until told to stop; the runner."""

    async def run(self, stop: asyncio.Event) -> None: ...

    async def run_until_empty(self, stop: asyncio.Event) -> None: ...


class JobsAtWork(Protocol):
    @property
    def busy(self) -> int: ...

    @property
    def stuck(self) -> asyncio.Event:
        """A handler ignores its cancellation: the process has to end."""

    async def drain(self, *, grace: float, hurry: asyncio.Event) -> None: ...

    async def ended(self, *, within: float) -> bool: ...

    async def abandon(self, *, within: float) -> None: ...


class Handlers(Protocol):
    """The thread in which handlers run."""

    def start(self) -> None: ...

    def tick(self) -> None: ...

    async def finish(self, last: Coroutine[object, object, None], *, within: float) -> None: ...


class Pulse(Protocol):
    async def pulse(self) -> bool: ...


def _exit_now() -> NoReturn:
    """A thread that blocks cannot be ended from outside: leave without it."""
    with suppress(Exception):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The two halves of a job's life, as the engine sees them."""

    claiming: ClaimLoop
    jobs: JobsAtWork


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    health: Health
    store: Pulse
    handlers: Handlers
    wake: Wake
    work: Work | None  # None: this process runs no jobs
    duties: tuple[Callable[[], Coroutine[object, object, None]], ...]
    schema_problem: Callable[[], Awaitable[str | None]]
    grace_seconds: float
    close_handlers: Callable[[], Coroutine[object, object, None]]
    clock: Clock = seconds_since_boot
    exit_now: Callable[[], NoReturn] = _exit_now

    async def run(self, *, until_empty: bool = False) -> int:
        """The process's exit code. Returns after a signal, or when nothing is left (`until_empty`)."""
        stop, hurry = asyncio.Event(), asyncio.Event()
        self._obey_signals(stop, hurry)
        self.handlers.start()
        beats = [asyncio.create_task(self._tick()), asyncio.create_task(self._pulse())]
        try:
            await self._wait_for_schema(stop)
            duties = [asyncio.create_task(duty()) for duty in self.duties]
            try:
                return await self._work(stop, hurry, duties, until_empty=until_empty)
            finally:
                await _cancelled(duties)
        finally:
            await _cancelled(beats)

    async def _work(
        self, stop: asyncio.Event, hurry: asyncio.Event, duties: list[Task], *, until_empty: bool
    ) -> int:
        stopped = asyncio.create_task(stop.wait())
        if self.work is None:
            await asyncio.wait({stopped, *duties}, return_when=asyncio.FIRST_COMPLETED)
            return self._verdict(duties)
        claiming, jobs = self.work.claiming, self.work.jobs
        look = claiming.run_until_empty if until_empty else claiming.run
        looking = asyncio.create_task(look(stop))
        stuck = asyncio.create_task(jobs.stuck.wait())
        await asyncio.wait({stopped, stuck, looking, *duties}, return_when=asyncio.FIRST_COMPLETED)
        self.health.draining = True
        stop.set()
        self.wake.ring("stop")
        await jobs.drain(grace=self.grace_seconds, hurry=hurry)
        clean = await self._given_back(jobs, looking)
        await _cancelled([stopped, stuck])
        if not clean:
            await jobs.abandon(within=_ABANDON_SECONDS)
            _log.error("exit_with_unsettled_jobs", count=jobs.busy)
            self.exit_now()
        await self.handlers.finish(self.close_handlers(), within=_ABANDON_SECONDS)
        return self._verdict([*duties, looking])

    async def _given_back(self, jobs: JobsAtWork, looking: Task) -> bool:
        """Whether every job is settled and no claim is on its way, in the time that is left."""
        ends_at = self.clock() + _GIVE_BACK_SECONDS
        # A look that was under way may still bring jobs: they are given back like the others.
        await asyncio.wait({looking}, timeout=_GIVE_BACK_SECONDS / 2)
        if jobs.stuck.is_set():
            return False
        await jobs.drain(grace=0, hurry=asyncio.Event())
        ended = await jobs.ended(within=max(0.1, ends_at - self.clock()))
        return ended and looking.done()

    def _verdict(self, duties: list[Task]) -> int:
        """A duty that ended by itself is a bug: better to be restarted than to limp on without it."""
        for duty in duties:
            if duty.done() and not duty.cancelled() and (error := duty.exception()) is not None:
                _log.error("background_task_died", exc_info=error, reason=duty.get_name())
                return 1
        return 0

    def _obey_signals(self, stop: asyncio.Event, hurry: asyncio.Event) -> None:
        def told(which: signal.Signals) -> None:
            _log.info("signal", signal=which.name)
            if stop.is_set():
                hurry.set()
            self.health.draining = True
            stop.set()
            self.wake.ring("stop")

        for which in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(which, told, which)

    async def _wait_for_schema(self, stop: asyncio.Event) -> None:
        """No database at the start is no error: live 200, ready 503, and another try."""
        while not stop.is_set():
            try:
                problem = await self.schema_problem()
            except SchemaMismatch as error:
                raise SchemaRefusedError(
                    f"the login may not read the schema: {error.message}; {_GRANT}"
                ) from error
            except JobError as error:
                self.health.note_database(error)
                with suppress(TimeoutError):
                    async with asyncio.timeout(1.0):
                        await stop.wait()
                continue
            if problem is not None:
                raise SchemaRefusedError(problem)
            self.health.note_claim()
            return

    async def _tick(self) -> None:
        while True:
            self.health.control_ticked_at = self.clock()
            self.handlers.tick()
            await asyncio.sleep(_TICK_SECONDS)

    async def _pulse(self) -> None:
        """Write to the database now and then, so that `ready` tells the truth; often while it is away."""
        told, last = OutageLog(self.clock), -math.inf
        while True:
            await asyncio.sleep(_TICK_SECONDS)
            trouble = self.health.database_trouble
            told.note(trouble)
            is_due = trouble is not None or self.clock() - last >= _PULSE_SECONDS
            if is_due and self.health.database_ok_at is not None:
                last = self.clock()
                await self._beat()

    async def _beat(self) -> None:
        try:
            writable = await self.store.pulse()
        except JobError as error:
            self.health.note_pulse(error)
        except Exception as error:  # noqa: BLE001 - a bug of ours, and no reason to end
            _log.error("upkeep_failed", key="pulse", exc_info=error)
        else:
            away = TakesNoWrites(Code.DB_UNAVAILABLE, "the database is read-only")
            self.health.note_pulse(None if writable else away)


async def _cancelled(tasks: Sequence[asyncio.Task[object]]) -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=1.0)
