"""The engine starts and stops its parts in the right order; here they are stand-ins, and time is virtual."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import NoReturn

import pytest

from bpc_worker.engine import outage_log, worker
from bpc_worker.engine.health import Health
from bpc_worker.engine.wake import Wake
from bpc_worker.engine.worker import Engine, SchemaRefusedError, Work
from bpc_worker.jobs.errors import Code, JobError, SchemaMismatch, Unavailable
from bpc_worker.jobs.queue_settings import QueueSettings
from bpc_worker.memory.store import MemoryJobStore
from tests.support.log_words import LogWords
from tests.support.virtual_time import VirtualClock, steps, until

pytestmark = pytest.mark.virtual_time

GRACE = 30.0
AWAY = Unavailable(Code.DB_UNAVAILABLE, "no database")


class ExitedError(Exception):
    """Where the process would have ended."""


def exited() -> NoReturn:
    raise ExitedError


async def nothing() -> None:
    """Asked of nobody."""


async def for_ever() -> None:
    await asyncio.Event().wait()


@dataclass
class Claiming:
    """A claim loop that looks until it is told to stop, and `late` seconds longer."""

    did: list[str]
    late: float = 0.0
    error: Exception | None = None

    async def run(self, stop: asyncio.Event) -> None:
        self.did.append("claim")
        if self.error is not None:
            raise self.error
        await stop.wait()
        await asyncio.sleep(self.late)
        self.did.append("claimed")

    async def run_until_empty(self, stop: asyncio.Event) -> None:
        self.did.append(f"empty the queue, stop {stop.is_set()}")


@dataclass
class Jobs:
    """Jobs that take so long; None of them to begin with."""

    did: list[str]
    seconds: float = 0.0
    busy: int = 0
    stuck: asyncio.Event = field(default_factory=asyncio.Event)

    async def drain(self, *, grace: float, hurry: asyncio.Event) -> None:
        self.did.append(f"drain {grace:g}")
        waiting = {asyncio.ensure_future(hurry.wait()), asyncio.ensure_future(self.stuck.wait())}
        if self.seconds and grace:
            await asyncio.wait(waiting, timeout=min(grace, self.seconds), return_when="FIRST_COMPLETED")
        for each in waiting:
            each.cancel()

    async def ended(self, *, within: float) -> bool:
        self.did.append(f"ended within {within:.2f}")
        return not self.busy

    async def abandon(self, *, within: float) -> None:
        self.did.append(f"abandon {within:g}")


@dataclass
class Handlers:
    did: list[str]
    ticks: int = 0

    def start(self) -> None:
        self.did.append("start handlers")

    def tick(self) -> None:
        self.ticks += 1

    async def finish(self, last: Coroutine[object, object, None], *, within: float) -> None:
        del within
        await last
        self.did.append("finish handlers")


@dataclass
class Bench:
    """An engine in the making: a test changes what it is about."""

    clock: VirtualClock
    store: MemoryJobStore
    did: list[str]
    claiming: Claiming
    jobs: Jobs
    handlers: Handlers
    health: Health
    works: bool = True
    wake: Wake = field(default_factory=Wake)
    duties: tuple[Callable[[], Coroutine[object, object, None]], ...] = (for_ever,)
    schema_problem: Callable[[], Awaitable[str | None]] = field(default=nothing)

    def engine(self) -> Engine:
        return Engine(
            health=self.health,
            store=self.store,
            handlers=self.handlers,
            wake=self.wake,
            work=Work(claiming=self.claiming, jobs=self.jobs) if self.works else None,
            duties=self.duties,
            schema_problem=self.schema_problem,
            grace_seconds=GRACE,
            close_handlers=self._close_handlers,
            clock=self.clock,
            exit_now=exited,
        )

    async def _close_handlers(self) -> None:
        self.did.append("close handlers")

    def start(self, *, until_empty: bool = False) -> asyncio.Task[int]:
        return asyncio.create_task(self.engine().run(until_empty=until_empty))


@pytest.fixture
async def bench() -> Bench:
    clock, did = VirtualClock(), list[str]()
    store = MemoryJobStore(QueueSettings(owner="w"), clock=clock)
    return Bench(clock, store, did, Claiming(did), Jobs(did), Handlers(did), Health(clock=clock))


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch) -> LogWords:
    words = LogWords()
    monkeypatch.setattr(outage_log, "_log", words)
    monkeypatch.setattr(worker, "_log", words)
    return words


@pytest.mark.parametrize("which", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_it_in_the_right_order(
    bench: Bench, words: LogWords, which: signal.Signals
) -> None:
    bench.claiming.late = 0.001
    running = bench.start()
    await asyncio.sleep(5)
    assert bench.health.ready()["schema"] == "ok"
    signal.raise_signal(which)

    assert await running == 0
    assert bench.did == [
        "start handlers", "claim", "drain 30", "claimed", "drain 0", "ended within 3.50", "close handlers",
        "finish handlers",
    ]  # fmt: skip
    assert bench.health.draining
    assert words.said == ["info signal"]
    assert "stop" in await bench.wake.wait(at_most=0)


async def test_a_second_signal_hurries_it(bench: Bench) -> None:
    bench.jobs.seconds = GRACE
    running = bench.start()
    await steps()
    signal.raise_signal(signal.SIGTERM)
    await asyncio.sleep(3)
    before = bench.clock()
    assert not running.done()
    signal.raise_signal(signal.SIGTERM)

    assert await running == 0
    assert bench.clock() - before < 1


async def test_a_queue_that_is_empty_ends_it(bench: Bench) -> None:
    assert await bench.start(until_empty=True) == 0
    assert "empty the queue, stop False" in bench.did


async def test_a_worker_that_runs_no_jobs_ends_with_a_signal(bench: Bench) -> None:
    bench.works = False
    running = bench.start()
    await steps()
    signal.raise_signal(signal.SIGTERM)

    assert await running == 0
    assert bench.did == ["start handlers"]


@pytest.mark.parametrize("works", [True, False])
async def test_a_background_task_that_dies_takes_the_worker_with_it(
    bench: Bench, words: LogWords, *, works: bool
) -> None:
    async def dies() -> None:
        await asyncio.sleep(3)
        raise ValueError

    bench.works, bench.duties = works, (for_ever, dies)

    assert await bench.start() == 1
    assert words.said == ["error background_task_died"]
    assert ("drain 30" in bench.did) is works


async def test_a_claim_loop_that_dies_takes_the_worker_with_it(bench: Bench, words: LogWords) -> None:
    bench.claiming.error = ValueError()

    assert await bench.start() == 1
    assert words.said == ["error background_task_died"]


async def test_background_tasks_are_ended_with_the_worker(bench: Bench) -> None:
    async def noted() -> None:
        try:
            await for_ever()
        finally:
            bench.did.append("duty ended")

    bench.duties = (noted,)
    await bench.start(until_empty=True)

    assert bench.did[-1] == "duty ended"


async def test_without_background_tasks_it_ends_as_well(bench: Bench) -> None:
    bench.duties = ()

    assert await bench.start(until_empty=True) == 0


async def test_a_handler_that_ignores_its_cancellation_ends_the_process(
    bench: Bench, words: LogWords
) -> None:
    bench.jobs.busy = 1
    running = bench.start()
    await steps()
    bench.jobs.stuck.set()

    with pytest.raises(ExitedError):
        await running
    assert bench.did[-2:] == ["claimed", "abandon 1"]
    assert words.said == ["error exit_with_unsettled_jobs"]


async def test_jobs_that_do_not_end_in_time_end_the_process(bench: Bench, words: LogWords) -> None:
    bench.jobs.busy, bench.jobs.seconds = 2, 2 * GRACE
    running = bench.start()
    await steps()
    signal.raise_signal(signal.SIGTERM)

    with pytest.raises(ExitedError):
        await running
    assert bench.did[-2:] == ["ended within 3.50", "abandon 1"]
    assert words.said == ["info signal", "error exit_with_unsettled_jobs"]


async def test_a_claim_that_is_under_way_is_waited_for_and_not_for_ever(bench: Bench) -> None:
    bench.claiming.late = 1.5
    assert await _stopped(bench) == 0
    assert bench.did[-3:] == ["ended within 2.00", "close handlers", "finish handlers"]

    bench.claiming.late = 60
    with pytest.raises(ExitedError):
        await _stopped(bench)


async def _stopped(bench: Bench) -> int:
    running = bench.start()
    await steps()
    signal.raise_signal(signal.SIGTERM)
    return await running


async def test_a_database_that_is_away_at_the_start_is_waited_for(bench: Bench, words: LogWords) -> None:
    tries = 0

    async def away_at_first() -> str | None:
        nonlocal tries
        tries += 1
        if tries < 4:
            raise AWAY
        return None

    bench.schema_problem = away_at_first
    running = bench.start()
    await asyncio.sleep(2.5)
    assert bench.health.ready()["database"] == "DB_UNAVAILABLE"
    assert bench.did == ["start handlers"]
    await until(lambda: "claim" in bench.did)
    await asyncio.sleep(2)
    signal.raise_signal(signal.SIGTERM)

    assert await running == 0
    assert words.said == ["warning database_unreachable", "warning database_back", "info signal"]


async def test_a_signal_ends_the_wait_for_the_database(bench: Bench) -> None:
    async def away() -> str | None:
        raise AWAY

    bench.schema_problem = away
    running = bench.start()
    await steps()
    before = bench.clock()
    signal.raise_signal(signal.SIGTERM)

    assert await running == 0
    assert bench.clock() - before < 0.1


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        ("run: bpc-worker migrate", "run: bpc-worker migrate"),
        (
            SchemaMismatch("42501", "denied"),
            "the login may not read the schema: denied; GRANT bpc_worker TO it",
        ),
    ],
)
async def test_a_schema_that_does_not_fit_is_refused_in_words(
    bench: Bench, problem: str | JobError, said: str
) -> None:
    async def misfit() -> str | None:
        if isinstance(problem, JobError):
            raise problem
        return problem

    bench.schema_problem = misfit
    with pytest.raises(SchemaRefusedError) as refused:
        await bench.start()

    assert str(refused.value) == said
    assert bench.did == ["start handlers"]


async def test_both_loops_tick_every_second(bench: Bench) -> None:
    running = bench.start()
    await asyncio.sleep(10.5)

    assert bench.handlers.ticks == 11
    assert bench.clock() - bench.health.control_ticked_at == pytest.approx(0.5)
    signal.raise_signal(signal.SIGTERM)
    await running


async def test_a_quiet_database_is_asked_so_that_ready_tells_the_truth(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = bench.start()
    await asyncio.sleep(60)
    assert bench.health.ready()["database"] == "ok"
    assert bench.health.database_quiet_for < 5

    bench.store.table.shut = True  # as a server that is read-only
    await asyncio.sleep(6)
    assert bench.health.ready()["database"] == "DB_UNAVAILABLE"

    async def away() -> bool:
        raise AWAY

    monkeypatch.setattr(bench.store, "pulse", away)
    bench.health.note_database(None)
    await asyncio.sleep(6)
    assert bench.health.outage
    signal.raise_signal(signal.SIGTERM)
    await running


async def test_a_process_that_must_leave_says_what_it_has_to_say(monkeypatch: pytest.MonkeyPatch) -> None:
    codes: list[int] = []

    def leave(code: int) -> NoReturn:
        codes.append(code)
        raise ExitedError

    monkeypatch.setattr(os, "_exit", leave)
    with pytest.raises(ExitedError):
        worker._exit_now()

    assert codes == [1]
