"""What the sampler tells, and what it does not where it cannot know."""

from collections.abc import Mapping
from uuid import UUID

import pytest

from bpc_worker.engine.maintenance import sampler as sampler_module
from bpc_worker.engine.maintenance.sampler import Sampler
from bpc_worker.jobs.errors import Code, Unavailable
from bpc_worker.jobs.store import Overdue, Running, SampleRules, Waiting, XminHolder
from bpc_worker.observability.metrics import Metrics
from tests.support.log_words import LogWords

RULES = SampleRules(interval_seconds=10, warn_depth=5, sla_factors={"TEST_B": 2.0}, sla_factor_of_others=6.0)


class Samples:
    def __init__(self) -> None:
        self.kinds: list[Waiting] = []
        self.late: list[Overdue] = []
        self.trouble: Unavailable | None = None

    def _ask(self) -> None:
        if self.trouble is not None:
            raise self.trouble

    async def waiting(self, *, every_seconds: float) -> list[Waiting]:
        assert every_seconds < RULES.interval_seconds
        self._ask()
        return self.kinds

    async def running(self) -> list[Running]:
        self._ask()
        return [Running("default", "TEST_A", 3.0)]

    async def overdue(self, factors: Mapping[str, float], *, others: float) -> list[Overdue]:
        assert (factors, others) == ({"TEST_B": 2.0}, 6.0)
        self._ask()
        return self.late

    async def xmin_holders(self) -> dict[str, XminHolder]:
        self._ask()
        return {"slot": XminHolder(7.0, 12), "transaction": XminHolder(1.0, 3)}

    async def disabled_endpoints(self) -> int:
        self._ask()
        return 2


def text(metrics: Metrics) -> str:
    return metrics.text(dropped_log_keys=0).decode()


def a_sampler(samples: Samples, metrics: Metrics) -> Sampler:
    return Sampler(samples, metrics, RULES)


async def test_gauges_show_what_was_counted_and_forget_what_is_gone() -> None:
    samples, metrics = Samples(), Metrics()
    sampler = a_sampler(samples, metrics)
    samples.kinds = [Waiting("default", "TEST_A", 4, 2.5), Waiting("default", "TEST_B", 1, 0.0)]
    await sampler.count_waiting()
    await sampler.look_at_running()
    await sampler.look_for_xmin()
    await sampler.look_for_disabled_endpoints()

    assert 'bpc_queue_length{queue="default",type="TEST_A"} 4.0' in text(metrics)
    assert 'bpc_queue_oldest_seconds{queue="default",type="TEST_A"} 2.5' in text(metrics)
    assert 'bpc_running_oldest_seconds{queue="default",type="TEST_A"} 3.0' in text(metrics)
    assert "bpc_db_oldest_xmin_seconds 7.0" in text(metrics)
    assert "bpc_webhook_endpoints_disabled 2.0" in text(metrics)
    assert 'bpc_db_oldest_xmin_transactions{holder="slot"} 12.0' in text(metrics)

    samples.kinds = []
    await sampler.count_waiting()
    assert "bpc_queue_length{" not in text(metrics)


async def test_a_deep_queue_is_said_once_and_so_is_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    words = LogWords()
    monkeypatch.setattr(sampler_module, "_log", words)
    samples = Samples()
    sampler = a_sampler(samples, Metrics())
    for depth in (4, 5, 9, 4, 4):
        samples.kinds = [Waiting("default", "TEST_A", depth, 0.0)]
        await sampler.count_waiting()

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
        await sampler.count_waiting()
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


async def test_what_cannot_be_counted_is_unknown_and_not_nothing() -> None:
    samples, metrics = Samples(), Metrics()
    sampler = a_sampler(samples, metrics)
    samples.kinds = [Waiting("default", "TEST_A", 4, 2.5, handled=False)]
    samples.late = [Overdue(UUID(int=1), "TEST_A", "default", "w", 70.0, new=False)]
    looks = (
        sampler.count_waiting, sampler.look_at_running, sampler.look_for_xmin,
        sampler.look_for_disabled_endpoints, sampler.note_overdue,
    )  # fmt: skip
    for look in looks:
        await look()
    samples.trouble = Unavailable(Code.DB_UNAVAILABLE, "did not answer within 5 s")
    for look in looks:
        with pytest.raises(Unavailable):
            await look()

    written = text(metrics)
    for gauge in ("queue_length", "queue_oldest_seconds", "running_oldest_seconds", "jobs_overdue"):
        assert f"bpc_{gauge}{{" not in written
    assert "bpc_jobs_unhandled{" not in written
    assert "bpc_db_oldest_xmin_seconds NaN" in written
    assert "bpc_webhook_endpoints_disabled NaN" in written


async def test_a_claim_that_does_not_say_when_it_began_has_no_age() -> None:
    metrics = Metrics()
    metrics.running([Running("default", "TEST_A", None), Running("default", "TEST_B", 2.0)])

    assert 'running_oldest_seconds{queue="default",type="TEST_B"} 2.0' in text(metrics)
    assert 'running_oldest_seconds{queue="default",type="TEST_A"}' not in text(metrics)
