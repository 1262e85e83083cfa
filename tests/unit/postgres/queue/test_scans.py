"""How much time is spent on looking for places."""

import pytest

from bpc_worker.postgres.queue import scans as module
from bpc_worker.postgres.queue.scans import Scans


class Time:
    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    clock = Time()
    monkeypatch.setattr(module, "time", clock)
    return clock


def test_one_long_look_may_be_the_machines_fault_and_three_are_not(time: Time) -> None:
    scans = Scans()
    for slow in (False, False, True):
        scans.took(0.2)
        assert scans.are_slow is slow
    time.now += 60
    scans.took(0.001)

    assert not scans.are_slow


def test_a_look_that_brought_many_jobs_may_take_longer(time: Time) -> None:  # noqa: ARG001 - it stands still
    scans = Scans()
    for _ in range(3):
        scans.took(0.06, claimed=100)

    assert not scans.are_slow


def test_the_next_one_waits_for_nine_times_as_long(time: Time) -> None:
    scans = Scans()
    assert scans.due_in == 0
    scans.took(0.2)
    assert scans.due_in == pytest.approx(1.8)
    time.now += 2

    assert scans.due_in == 0
