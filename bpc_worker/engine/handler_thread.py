"""The event loop that handlers share, in a thread of its own: one that blocks it starves nobody else."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from bpc_worker.engine.clock import Clock, seconds_since_boot
from bpc_worker.observability import log
from bpc_worker.observability.tracebacks import frames_of, type_and_place

T = TypeVar("T")

_log = log.get("handlers")

_BLOCKED_AFTER = 2.5  # the control loop asks every second


@dataclass(slots=True, eq=False)
class LazyEvent:
    """Something that happens once. Mostly nobody waits for it, and then no future has to be made."""

    is_set: bool = False
    _future: asyncio.Future[None] | None = None

    def set(self) -> None:
        self.is_set = True
        if self._future is not None and not self._future.done():
            self._future.set_result(None)

    @property
    def future(self) -> asyncio.Future[None]:
        """For `asyncio.wait`, in the loop in which it happens."""
        if self._future is None or self._future.cancelled():
            self._future = asyncio.get_running_loop().create_future()
            if self.is_set:
                self._future.set_result(None)
        return self._future


class _Task(asyncio.Task[Any]):
    owner: "RunningHandler[Any] | None" = None  # the job that it belongs to


class RunningHandler(Generic[T]):
    """A handler at work, seen from the control loop."""

    def __init__(
        self,
        thread: "HandlerThread",
        work: Coroutine[object, object, T],
        on_ended: Callable[[], None] | None = None,
    ) -> None:
        self._thread = thread
        self._work = work
        self._on_ended = on_ended
        self._ticket = deque([self])  # whoever takes it out, in either thread, decides whether it starts
        self._task: _Task | None = None
        self.withdrawn = False  # it has never started
        self.ended = LazyEvent()

    def start(self) -> None:
        """In the handlers' loop."""
        if not self._took_ticket():
            return  # withdrawn
        self._task = _Task(self._work, loop=self._thread.loop)
        self._task.owner = self
        self._task.add_done_callback(self._report)

    def withdraw(self) -> bool:
        """Whether it had not been started, and never will be: it has ended, and nobody is told."""
        if not self._took_ticket():
            return False
        self._work.close()
        self.withdrawn = True
        self._on_ended = None
        self.ended.set()
        return True

    def _took_ticket(self) -> bool:
        try:
            self._ticket.pop()
        except IndexError:
            return False
        return True

    def _report(self, task: asyncio.Task[T]) -> None:
        if isinstance(task, _Task):
            task.owner = None  # we hold the task: break the reference cycle
        if self._thread.to_control.put(self.mark_ended):
            self._thread.loop.call_soon(self._thread.to_control.wake)  # after the others that end now

    def mark_ended(self) -> None:
        """In the control loop."""
        if self.ended.is_set:
            return
        self.ended.set()
        on_ended, self._on_ended = self._on_ended, None  # break the reference cycle
        if on_ended is not None:
            on_ended()

    def cancel(self) -> None:
        self._thread.to_handlers.send(self._cancel)

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def result(self) -> T | None:
        """What it returned, None when it was cancelled. Only after `ended`."""
        if self._task is None or self._task.cancelled():
            return None
        result: T = self._task.result()
        return result

    @property
    def blocks_the_loop(self) -> bool:
        """Whether the loop is inside this handler's code at this moment, or that of a task it started."""
        inside = asyncio.current_task(self._thread.loop)
        return isinstance(inside, _Task) and inside.owner is self


class ThreadMailbox:
    """Calls for another thread's loop, in order. Waking a thread is expensive: many calls wake it once."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._calls: deque[Callable[[], None]] = deque()
        self._on_its_way = False

    def put(self, call: Callable[[], None]) -> bool:
        """For the next `wake`; whether it is the first one."""
        self._calls.append(call)
        return len(self._calls) == 1

    def wake(self) -> None:
        if self._calls and not self._on_its_way:  # else whoever clears it will find the calls
            self._on_its_way = True
            with suppress(RuntimeError):  # that loop is closed: the process is leaving
                self._loop.call_soon_threadsafe(self._deliver)

    def send(self, call: Callable[[], None]) -> None:
        self.put(call)
        self.wake()

    def _deliver(self) -> None:
        self._on_its_way = False  # before the first look: a call that comes from now on wakes us again
        try:
            while self._calls:
                self._calls.popleft()()
        finally:
            self.wake()  # one that raised must not hold up those behind it


def _log_orphaned_task(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """A task that a handler forgot went wrong. The loop's own words would quote the exception."""
    error = context.get("exception")
    if isinstance(error, BaseException):
        _log.warning("stray_task_failed", error_message=type_and_place(error), exception=frames_of(error))
    else:
        _log.warning("stray_task_failed", error_message=str(context.get("message")))


class HandlerThread:
    def __init__(self, clock: Clock = seconds_since_boot) -> None:
        self._clock = clock
        self.loop = asyncio.new_event_loop()
        self.loop.set_task_factory(self._new_task)
        self.loop.set_exception_handler(_log_orphaned_task)
        self.ticked_at = self._clock()
        self.to_handlers = ThreadMailbox(self.loop)
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="handlers", daemon=True)

    def start(self) -> None:
        """From the control loop."""
        self.to_control = ThreadMailbox(asyncio.get_running_loop())
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        while not self._stopping:
            try:
                self.loop.run_forever()
            except (SystemExit, KeyboardInterrupt) as error:  # sys.exit() in a task that a handler started
                _log.error("handler_tried_to_exit", reason=type(error).__name__)

    def _new_task(self, loop: asyncio.AbstractEventLoop, work: Any, **options: Any) -> asyncio.Task[Any]:
        """A task of a handler's own belongs to the same job."""
        task = _Task(work, loop=loop, **options)
        parent = asyncio.current_task(loop)
        task.owner = parent.owner if isinstance(parent, _Task) else None
        return task

    def prepare(
        self,
        work: Coroutine[object, object, T],
        on_ended: Callable[[], None] | None = None,
        *,
        wait: bool = False,
    ) -> RunningHandler[T]:
        """It starts, with all others that were prepared, at the next `start_prepared`.

        `wait`: not before somebody says `prepare_start`.
        """
        running = RunningHandler(self, work, on_ended)
        if not wait:
            self.to_handlers.put(running.start)
        return running

    def prepare_start(self, running: RunningHandler[T]) -> None:
        self.to_handlers.put(running.start)

    def start_prepared(self) -> None:
        self.to_handlers.wake()

    def run(self, work: Coroutine[object, object, T]) -> RunningHandler[T]:
        running = self.prepare(work)
        self.to_handlers.wake()
        return running

    def tick(self) -> None:
        """Ask for a sign of life; it comes when the loop is free."""
        self.to_handlers.send(self._ticked)

    @property
    def blocked(self) -> bool:
        """No sign of life for a while: some handler does not give the loop back."""
        return self._clock() - self.ticked_at > _BLOCKED_AFTER

    def _ticked(self) -> None:
        self.ticked_at = self._clock()

    async def finish(self, last: Coroutine[object, object, None], *, within: float) -> None:
        """Run this as the last of all work, then end the thread."""
        await asyncio.wait({self.run(last).ended.future}, timeout=within)
        self.stop()

    def stop(self) -> None:
        self._stopping = True
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(timeout=1.0)
        if not self._thread.is_alive():
            self.loop.close()
