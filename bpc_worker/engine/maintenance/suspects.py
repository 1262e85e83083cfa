"""Look after suspects: whoever has the watch over them starts a process that runs them, one at a time.

A job whose last workers died may be what killed them. In a process of its own it can kill nothing else, and
nobody has to stand still for it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import NamedTuple, Protocol

from bpc_worker.engine.clock import seconds_since_boot
from bpc_worker.jobs.errors import JobError
from bpc_worker.observability import log
from bpc_worker.processes.helper import Word

_log = log.get("suspects")

ALIVE = "alive"  # the word for nothing else to say

_TICK_SECONDS = 1.0
_MOST_SILENT_TICKS = 60
_LEAVE_SECONDS = 5.0  # between its last word and its end
_AFTER_DEATH = 1.0
_LONGEST_PAUSE = 300.0


class Process(Protocol):
    """The one in which suspects run."""

    @property
    def pid(self) -> int: ...

    async def word(self) -> Word | None:
        """What it says; None when it says no more."""

    async def ended(self) -> int: ...

    def stop(self) -> None:
        """After the job that it runs; told twice, at once."""

    def kill(self) -> None: ...


class Watch(Protocol):
    """The part of a JobStore that is needed here."""

    async def watch_suspects(self, watcher: str) -> bool: ...

    async def keep_suspects(self, watcher: str, *, give_up: bool = False) -> bool: ...


class SuspectMetrics(Protocol):
    def suspects_ended(self, how: str) -> None: ...


class _End(NamedTuple):
    how: str  # done, died, silent
    was_of_use: bool  # it has said more than that it lives


class SuspectWatch:
    def __init__(
        self,
        store: Watch,
        watcher: str,  # who that is, in the whole fleet
        start: Callable[[], Awaitable[Process]],
        metrics: SuspectMetrics,
        *,
        on_word: Callable[[Word], None],
        interval_seconds: float,
        spread: Callable[[float, float], float],
    ) -> None:
        self._store = store
        self._watcher = watcher
        self._start = start
        self._metrics = metrics
        self._on_word = on_word
        self._interval = self._pause = interval_seconds
        self._spread = spread
        self._useless = 0  # processes in a row that ran nothing
        self._process: Process | None = None
        self._stopping = False
        self._gone = asyncio.Event()  # no process is there
        self._gone.set()

    async def run(self) -> None:
        while True:
            await self.run_due()
            await asyncio.sleep(self._spread(self._pause, 0.25))

    async def run_due(self) -> bool:
        """Whether there were suspects that could be run here."""
        try:
            if self._stopping or not await self._store.watch_suspects(self._watcher):
                self._pause = self._interval
                return False
            return await self._run_process()
        except JobError as error:
            _log.warning("suspects_failed", error_code=error.code, error_message=error.message)
        except Exception as error:  # noqa: BLE001 - suspects may wait; nobody else is to suffer for it
            _log.error("suspects_failed", exc_info=error)
            self._metrics.suspects_ended("failed")
            self._rest("failed", was_of_use=False)
        return False

    async def _run_process(self) -> bool:
        self._gone.clear()
        try:
            end = await self._to_its_end()
        finally:
            self._process = None
            self._gone.set()
            with suppress(JobError):  # then it is anybody's in a lease
                await self._store.keep_suspects(self._watcher, give_up=True)
        self._metrics.suspects_ended(end.how)
        self._rest(end.how, was_of_use=end.was_of_use)
        return end.was_of_use

    def _rest(self, how: str, *, was_of_use: bool) -> None:
        """What does not come to run any here may do so elsewhere, or later."""
        self._useless = 0 if was_of_use else self._useless + 1
        pause = self._interval if how == "done" else min(_AFTER_DEATH, self._interval)
        self._pause = min(_LONGEST_PAUSE, pause * 2.0**self._useless)

    async def _to_its_end(self) -> _End:
        started = seconds_since_boot()
        process = self._process = await self._start()
        _log.info("suspects_started", pid=process.pid)
        if self._stopping:
            process.stop()
        try:
            was_of_use, is_silent = await self._hear_out(process)
            if not is_silent:
                with suppress(TimeoutError):
                    async with asyncio.timeout(_LEAVE_SECONDS):
                        await process.ended()
        finally:
            process.kill()
            code = await process.ended()
        how = "silent" if is_silent else "done" if code == 0 else "died"
        say = _log.info if how == "done" else _log.warning
        took = round((seconds_since_boot() - started) * 1000)
        say("suspects_ended", pid=process.pid, reason=how, status=code, duration_ms=took)
        return _End(how, was_of_use)

    async def _hear_out(self, process: Process) -> tuple[bool, bool]:
        """Until it hangs up: whether it ever said anything of use, and whether it fell silent instead.

        Counted in ticks of our own: a process that was frozen itself does not blame the other for it.
        """
        silent, came_up, was_of_use = 0, False, False
        while silent < _MOST_SILENT_TICKS:
            try:
                async with asyncio.timeout(_TICK_SECONDS):
                    word = await process.word()
            except TimeoutError:
                silent += 1
                if not came_up:  # it keeps the watch itself when it has come up
                    with suppress(JobError):
                        await self._store.keep_suspects(self._watcher)
                continue
            if word is None:
                return was_of_use, False
            silent, came_up, was_of_use = 0, True, was_of_use or word.name != ALIVE
            self._on_word(word)
        return was_of_use, True

    async def stop(self, *, grace: float, hurry: asyncio.Event) -> None:
        """No more from now on; what runs may go on for so long."""
        self._stopping = True
        if self._process is not None:
            self._process.stop()
        gone, hurried = asyncio.ensure_future(self._gone.wait()), asyncio.ensure_future(hurry.wait())
        await asyncio.wait({gone, hurried}, timeout=grace, return_when=asyncio.FIRST_COMPLETED)
        gone.cancel()
        hurried.cancel()
        if self._process is not None:
            self._process.stop()

    async def ended(self, *, within: float) -> None:
        """It is gone by then: what it would not let go of is the reaper's."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                await self._gone.wait()
        if self._process is not None:
            _log.warning("suspects_killed", pid=self._process.pid)
            self._process.kill()
