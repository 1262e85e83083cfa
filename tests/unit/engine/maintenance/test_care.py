"""Upkeep in virtual time: whatever it raises, it goes on, less often while it fails."""

import asyncio

import pytest

from bpc_worker.engine.maintenance import care as care_module
from bpc_worker.engine.maintenance.care import Care
from bpc_worker.jobs.errors import Code, Permanent, SchemaMismatch, Unavailable
from bpc_worker.observability.metrics import Metrics
from tests.support.log_words import LogWords
from tests.support.virtual_time import VirtualClock

pytestmark = pytest.mark.virtual_time

TROUBLES = [
    ZeroDivisionError("a bug"),
    Permanent(Code.VALIDATION_ERROR, "an odd row"),
    SchemaMismatch("42501", "permission denied"),
    Unavailable(Code.DB_UNAVAILABLE, "away"),
]


class Bench:
    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.metrics = Metrics()
        self.care = Care(self.metrics, spread=lambda seconds, _: seconds, clock=self.clock)
        self.trouble: Exception | None = None
        self.done_at: list[float] = []

    async def work(self) -> None:
        self.done_at.append(self.clock())
        if self.trouble is not None:
            raise self.trouble

    @property
    def pauses(self) -> list[float]:
        return [round(then - now, 1) for now, then in zip(self.done_at, self.done_at[1:], strict=False)]

    @property
    def failures(self) -> str:
        written = self.metrics.text(dropped_log_keys=0).decode()
        return next(
            (line for line in written.splitlines() if line.startswith("bpc_upkeep_failures_total{")), ""
        )


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch) -> LogWords:
    words = LogWords()
    monkeypatch.setattr(care_module, "_log", words)
    return words


@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda trouble: type(trouble).__name__)
async def test_what_fails_is_tried_less_and_less_often(trouble: Exception, words: LogWords) -> None:
    bench = Bench()
    bench.trouble = trouble
    running = asyncio.create_task(bench.care.every(15, "sampler", bench.work)())
    await asyncio.sleep(1000)
    assert not running.done()
    assert bench.pauses == [30, 60, 120, 240, 300]
    assert bench.failures == 'bpc_upkeep_failures_total{task="sampler"} 6.0'
    assert len(words.said) == 6

    bench.trouble = None
    await asyncio.sleep(400)
    assert bench.pauses[-3:] == [15, 15, 15]
    running.cancel()


async def test_a_duty_that_leaves_its_loop_is_begun_anew(words: LogWords) -> None:
    bench = Bench()
    bench.trouble = ZeroDivisionError("a bug")
    running = asyncio.create_task(bench.care.endless("bell", bench.work)())
    await asyncio.sleep(32)

    assert not running.done()
    assert bench.pauses == [2, 4, 8, 16]
    assert words.said == ["error upkeep_failed"] * 5
    running.cancel()


async def test_a_duty_that_went_well_for_long_is_soon_begun_anew() -> None:
    bench = Bench()

    async def for_an_hour() -> None:
        await bench.work()
        await asyncio.sleep(3600)
        raise ZeroDivisionError

    running = asyncio.create_task(bench.care.endless("bell", for_an_hour)())
    await asyncio.sleep(4 * 3601)
    assert bench.pauses == [3601, 3601, 3601]
    running.cancel()


async def test_whoever_is_cancelled_stops() -> None:
    bench = Bench()
    running = asyncio.create_task(bench.care.every(1, "sampler", asyncio.Event().wait)())  # type: ignore[arg-type]
    await asyncio.sleep(1)
    running.cancel()
    await asyncio.wait({running})

    assert running.cancelled()
