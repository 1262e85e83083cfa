"""What the sampler tells, and that one chore that fails does not keep the others from being done."""

from collections.abc import Mapping, Sequence
from uuid import UUID

import pytest

from bpc_worker.engine.health import Health
from bpc_worker.engine.maintenance import sampler as sampler_module
from bpc_worker.engine.maintenance.reaper import Reaper
from bpc_worker.engine.maintenance.sampler import Sampler
from bpc_worker.jobs.errors import Code, SchemaMismatch, Unavailable
from bpc_worker.jobs.store import JobStore, Overdue, Reaped, Running, SampleRules, Waiting
from bpc_worker.observability.metrics import Metrics
from tests.support.log_words import LogWords

RULES = SampleRules(interval_seconds=10, warn_depth=5, sla_factors={"TEST_B": 2.0}, sla_factor_of_others=6.0)


class Samples:
    def __init__(self) -> None:
        self.kinds: list[Waiting] = []
        self.late: list[Overdue] = []

    async def waiting(self, *, every_seconds: float) -> list[Waiting]:
        assert every_seconds < RULES.interval_seconds
        return self.kinds

    async def running(self) -> list[Running]:
        return [Running("default", "TEST_A", 3.0)]

    async def overdue(self, factors: Mapping[str, float], *, others: float) -> list[Overdue]:
        assert (factors, others) == ({"TEST_B": 2.0}, 6.0)
        return self.late

    async def oldest_xmin_seconds(self) -> float:
        return 7.0


def text(metrics: Metrics) -> str:
    return metrics.text(dropped_log_keys=0).decode()


def a_sampler(samples: Samples, metrics: Metrics) -> Sampler:
    return Sampler(samples, metrics, RULES, on_database=lambda _: None, spread=lambda seconds, _: seconds)


async def test_gauges_show_what_was_counted_and_forget_what_is_gone() -> None:
    samples, metrics = Samples(), Metrics()
    sampler = a_sampler(samples, metrics)
    samples.kinds = [Waiting("default", "TEST_A", 4, 2.5), Waiting("default", "TEST_B", 1, 0.0)]
    await sampler.sample()

    assert 'bpc_queue_length{queue="default",type="TEST_A"} 4.0' in text(metrics)
    assert 'bpc_queue_oldest_seconds{queue="default",type="TEST_A"} 2.5' in text(metrics)
    assert 'bpc_running_oldest_seconds{queue="default",type="TEST_A"} 3.0' in text(metrics)
    assert "bpc_db_oldest_xmin_seconds 7.0" in text(metrics)

    samples.kinds = []
    await sampler.sample()
    assert "bpc_queue_length{" not in text(metrics)


async def test_a_deep_queue_is_said_once_and_so_is_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    words = LogWords()
    monkeypatch.setattr(sampler_module, "_log", words)
    samples = Samples()
    sampler = a_sampler(samples, Metrics())
    for depth in (4, 5, 9, 4, 4):
        samples.kinds = [Waiting("default", "TEST_A", depth, 0.0)]
        await sampler.sample()

    assert words.said == ["warning queue_deep", "info queue_depth_normal"]


async def test_what_nobody_handles_is_said_at_the_second_look_and_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = LogWords()
    monkeypatch.setattr(sampler_module, "_log", words)
    samples, metrics = Samples(), Metrics()
    sampler = a_sampler(samples, metrics)
    gauge = 'bpc_jobs_unhandled{queue="default",type="TEST_A"} 3.0'
    said = []
    for handled in (False, False, False, True, False, False):
        samples.kinds = [Waiting("default", "TEST_A", 3, 0.0, handled), Waiting("default", "TEST_B", 1, 0.0)]
        await sampler.sample()
        said.append(len(words.said))
        assert (gauge in text(metrics)) is not handled

    assert said == [0, 1, 1, 1, 1, 2]
    assert set(words.said) == {"warning jobs_unhandled"}


async def test_an_overdue_job_is_logged_when_it_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    words = LogWords()
    monkeypatch.setattr(sampler_module, "_log", words)
    samples, metrics = Samples(), Metrics()
    samples.late = [
        Overdue(UUID(int=n), "TEST_A", "default", "w", 70.0, new) for n, new in ((1, True), (2, False))
    ]
    await a_sampler(samples, metrics).note_overdue()

    assert words.said == ["warning job_overdue"]
    assert 'bpc_jobs_overdue{queue="default",type="TEST_A"} 2.0' in text(metrics)


class NothingToReap:
    async def reap(self, *, ended_for: float) -> Sequence[Reaped]:  # noqa: ARG002 - there is nothing
        return []


async def test_a_chore_that_fails_stops_neither_the_others_nor_the_claims() -> None:
    done: list[str] = []

    async def does_not_fit() -> None:
        raise SchemaMismatch("42501", "permission denied")

    async def away() -> None:
        raise Unavailable(Code.DB_UNAVAILABLE, "away")

    async def works() -> None:
        done.append("works")

    health = Health()
    store: JobStore = NothingToReap()  # type: ignore[assignment]  # all that a pass asks of it
    reaper = Reaper(
        store, health, Metrics(), interval_seconds=1, spread=lambda seconds, _: seconds,
        chores=(does_not_fit, away, works),
    )  # fmt: skip
    await reaper._try_pass()

    assert done == ["works"]
    assert health.may_claim
    assert health.outage  # an outage is one, whoever sees it
