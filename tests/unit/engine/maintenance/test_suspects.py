"""The watch over suspects in virtual time: when a process is started for them, and what its end means."""

import asyncio
import signal
from collections import deque

import pytest

from bpc_worker.engine.maintenance import suspects as suspects_module
from bpc_worker.engine.maintenance.suspects import SuspectWatch
from bpc_worker.jobs.errors import Code, JobError, Unavailable
from bpc_worker.jobs.queue_settings import QueueSettings
from bpc_worker.memory.store import MemoryJobStore
from bpc_worker.processes.helper import Word
from bpc_worker.testing import A_TENANT, a_job
from tests.support.log_words import LogWords
from tests.support.virtual_time import VirtualClock, steps, until

pytestmark = pytest.mark.virtual_time

LEASE, INTERVAL = 60.0, 5.0
ME, OTHER = "me", "somebody else"
ALIVE, CLAIMED = Word("alive"), Word("acquired")
AWAY = Unavailable(Code.DB_UNAVAILABLE, "no database")


class Store(MemoryJobStore):
    def __init__(self, clock: VirtualClock) -> None:
        super().__init__(QueueSettings(owner="w", types=("TEST_NOOP",), lease_seconds=LEASE), clock=clock)
        self.errors: list[Exception] = []

    async def watch_suspects(self, watcher: str) -> bool:
        if self.errors:
            raise self.errors.pop(0)
        return await super().watch_suspects(watcher)


class FakeProcess:
    """Says what it is told to say, and ends as it is told to."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.told: list[str] = []
        self._words: asyncio.Queue[Word | None] = asyncio.Queue()
        self._code: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def say(self, *words: Word) -> None:
        for word in words:
            self._words.put_nowait(word)

    def end(self, code: int) -> None:
        if not self._code.done():
            self._code.set_result(code)
            self._words.put_nowait(None)

    async def word(self) -> Word | None:
        return await self._words.get()

    async def ended(self) -> int:
        return await asyncio.shield(self._code)

    def stop(self) -> None:
        self.told.append("stop")

    def kill(self) -> None:
        self.told.append("kill")
        self.end(-signal.SIGKILL)


class Bench:
    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.store = Store(self.clock)
        self.started: list[FakeProcess] = []
        self.refusals: deque[OSError] = deque()
        self.may_start = asyncio.Event()
        self.may_start.set()
        self.heard: list[Word] = []
        self.ends: list[str] = []
        self.watch = SuspectWatch(
            self.store, ME, self.start, self,
            on_word=self.heard.append, interval_seconds=INTERVAL, spread=lambda seconds, _: seconds,
        )  # fmt: skip

    async def start(self) -> FakeProcess:
        if self.refusals:
            raise self.refusals.popleft()
        await self.may_start.wait()
        self.started.append(FakeProcess(len(self.started) + 1))
        return self.started[-1]

    def suspects_ended(self, how: str) -> None:
        self.ends.append(how)

    async def add_suspect(self) -> None:
        await self.store.enqueue(A_TENANT, a_job())
        for _ in range(2):
            await self.store.begin((await self.store.claim(limit=1)).claims)
            self.clock.suspend(LEASE)
            await self.store.reap()
            self.clock.suspend(10)

    async def running(self, number: int) -> FakeProcess:
        """The process of that number, from 1, when it has come up."""
        await until(lambda: len(self.started) >= number)
        self.started[number - 1].say(ALIVE, CLAIMED)
        await until(lambda: self.heard.count(CLAIMED) >= number)
        return self.started[number - 1]

    @property
    def owner(self) -> str | None:
        watch = self.store.table.suspect_watch
        return watch.owner if watch.is_held_by(watch.owner, self.clock.now) else None


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    words = LogWords()
    monkeypatch.setattr(suspects_module, "_log", words)
    return words.said


async def test_without_suspects_nothing_is_started() -> None:
    bench = Bench()
    await bench.store.enqueue(A_TENANT, a_job())

    assert not await bench.watch.run_due()
    assert not bench.started


async def test_a_process_is_started_heard_and_waited_for(said: list[str]) -> None:
    bench = Bench()
    await bench.add_suspect()
    due = asyncio.create_task(bench.watch.run_due())
    process = await bench.running(1)
    assert bench.owner == ME
    process.say(Word("jobs_queued", (None,)))
    process.end(0)

    assert await due
    assert bench.heard == [ALIVE, CLAIMED, Word("jobs_queued", (None,))]
    assert bench.ends == ["done"]
    assert bench.owner is None, "anybody may have the watch now"
    assert said == ["info suspects_started", "info suspects_ended"]


async def test_somebody_elses_watch_is_left_to_them() -> None:
    bench = Bench()
    await bench.add_suspect()
    await bench.store.watch_suspects(OTHER)

    assert not await bench.watch.run_due()
    assert not bench.started
    bench.clock.suspend(LEASE)  # they died
    due = asyncio.create_task(bench.watch.run_due())
    (await bench.running(1)).end(0)
    assert await due


async def test_one_that_dies_of_its_job_is_followed_by_another_soon(said: list[str]) -> None:
    bench = Bench()
    await bench.add_suspect()
    watching = asyncio.create_task(bench.watch.run())
    for number in (1, 2, 3):
        process = await bench.running(number)
        died_at = bench.clock.now
        process.end(-signal.SIGKILL)
        await until(lambda n=number: len(bench.started) > n)  # type: ignore[misc]
        assert (bench.clock.now - died_at).total_seconds() == pytest.approx(1, abs=0.1)
    watching.cancel()

    assert bench.ends == ["died"] * 3
    assert said[:3] == ["info suspects_started", "warning suspects_ended", "info suspects_started"]


@pytest.mark.parametrize("says", [(), (ALIVE,)])
async def test_one_that_does_not_come_up_is_tried_less_and_less_often(
    said: list[str], says: tuple[Word, ...]
) -> None:
    bench = Bench()
    await bench.add_suspect()
    bench.refusals.append(BlockingIOError("no more processes"))
    watching = asyncio.create_task(bench.watch.run())
    began, pauses = bench.clock.now, []
    for number in (1, 2, 3, 4):
        await until(lambda n=number: len(bench.started) == n)  # type: ignore[misc]
        pauses.append((bench.clock.now - began).total_seconds())
        bench.started[-1].say(*says)
        bench.started[-1].end(1)
        began = bench.clock.now
    watching.cancel()

    assert pauses == pytest.approx([2, 4, 8, 16], abs=0.1)
    assert bench.ends == ["failed", *["died"] * 3]
    assert said[0] == "error suspects_failed"


async def test_one_that_finds_nothing_to_do_is_tried_less_and_less_often() -> None:
    """A suspect that is due and cannot be taken: the database refuses, or somebody keeps it locked."""
    bench = Bench()
    await bench.add_suspect()
    watching = asyncio.create_task(bench.watch.run())
    began, pauses = bench.clock.now, []
    for number in (1, 2, 3):
        await until(lambda n=number: len(bench.started) == n)  # type: ignore[misc]
        pauses.append((bench.clock.now - began).total_seconds())
        bench.started[-1].say(ALIVE)
        bench.started[-1].end(0)
        began = bench.clock.now
    watching.cancel()

    assert pauses == pytest.approx([0, 10, 20], abs=0.1)


async def test_while_it_comes_up_the_watch_is_kept() -> None:
    """However long that takes on a busy machine: a second one would make it no quicker."""
    bench = Bench()
    await bench.add_suspect()
    due = asyncio.create_task(bench.watch.run_due())
    await until(lambda: bool(bench.started))
    for _ in range(5):
        await asyncio.sleep(10)
        assert bench.owner == ME
    bench.clock.suspend(LEASE - 2)
    await asyncio.sleep(3)
    assert bench.owner == ME
    (await bench.running(1)).end(0)

    assert await due


async def test_one_that_falls_silent_is_killed(said: list[str]) -> None:
    bench = Bench()
    await bench.add_suspect()
    due = asyncio.create_task(bench.watch.run_due())
    process = await bench.running(1)
    for _ in range(3):
        await asyncio.sleep(50)
        process.say(ALIVE)
    await asyncio.sleep(50)
    assert process.told == []
    await due

    assert process.told == ["kill"]
    assert bench.ends == ["silent"]
    assert said[-1] == "warning suspects_ended"


@pytest.mark.parametrize("error", [AWAY, ZeroDivisionError("a bug")])
async def test_whatever_goes_wrong_costs_nobody_else_anything(error: Exception, said: list[str]) -> None:
    bench = Bench()
    await bench.add_suspect()
    bench.store.errors = [error]
    watching = asyncio.create_task(bench.watch.run())
    process = await bench.running(1)
    process.end(0)
    await until(lambda: bench.ends[-1:] == ["done"])

    assert not watching.done()
    watching.cancel()
    assert said[0].endswith("suspects_failed")
    assert isinstance(error, JobError) == said[0].startswith("warning")


async def test_a_worker_that_stops_stops_it_and_waits() -> None:
    bench = Bench()
    await bench.add_suspect()
    watching = asyncio.create_task(bench.watch.run())
    process = await bench.running(1)
    stopping = asyncio.create_task(bench.watch.stop(grace=25, hurry=asyncio.Event()))
    await asyncio.sleep(5)
    assert process.told == ["stop"]
    assert not stopping.done()
    process.end(0)
    await stopping
    await bench.watch.ended(within=1)
    await asyncio.sleep(100)

    assert bench.owner is None
    assert len(bench.started) == 1, "a worker that stops starts nothing more"
    watching.cancel()


@pytest.mark.parametrize("hurried", [True, False])
async def test_at_the_end_of_its_grace_it_has_to_hurry_and_then_to_go(hurried: bool) -> None:  # noqa: FBT001
    bench = Bench()
    await bench.add_suspect()
    watching = asyncio.create_task(bench.watch.run())
    process = await bench.running(1)
    hurry = asyncio.Event()
    if hurried:
        hurry.set()
    began = bench.clock.now
    await bench.watch.stop(grace=25, hurry=hurry)
    assert process.told == ["stop", "stop"]
    assert (bench.clock.now - began).total_seconds() == (0 if hurried else pytest.approx(25, abs=0.1))
    await bench.watch.ended(within=3)

    assert process.told[-1] == "kill"
    await until(lambda: bench.ends == ["died"])
    watching.cancel()


async def test_a_process_that_comes_too_late_is_stopped_at_once() -> None:
    bench = Bench()
    await bench.add_suspect()
    bench.may_start.clear()
    due = asyncio.create_task(bench.watch.run_due())
    await steps()
    await bench.watch.stop(grace=0, hurry=asyncio.Event())
    bench.may_start.set()
    await until(lambda: bool(bench.started))
    process = bench.started[0]
    await until(lambda: "stop" in process.told)
    process.end(0)

    assert not await due


async def test_a_task_that_is_cancelled_leaves_no_process() -> None:
    bench = Bench()
    await bench.add_suspect()
    watching = asyncio.create_task(bench.watch.run())
    process = await bench.running(1)
    watching.cancel()
    await asyncio.wait({watching})

    assert process.told == ["kill"]
    assert bench.owner is None
