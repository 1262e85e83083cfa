"""Whatever happens to a queue in whatever order: PostgreSQL, memory and a plain model end up the same."""

import asyncio
import os
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from typing import ClassVar, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from bpc_worker.adapters.memory.jobs import MemoryJobStore
from bpc_worker.jobs.model import JobId
from bpc_worker.testing import FakeClock
from tests.support.histories import SETTINGS, Histories, Row, Side

T = TypeVar("T")

TIMES = int(os.environ.get("BPC_TEST_HISTORIES", "1"))  # so many times as many; `make test-faults` takes ten
_UNHURRIED = tuple(HealthCheck)


class InMemory:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.store = MemoryJobStore(SETTINGS, clock=self.clock, dice=lambda: 0.5)
        self.cancel, self.requeue, self.discard = self.store.cancel, self.store.requeue, self.store.discard

    def move_clock(self, now: datetime) -> None:
        self.clock.now = now

    def rows(self) -> Sequence[Row]:
        return [
            {field.name: getattr(row, field.name) for field in fields(row)}
            | {"events": [event.type for event in self.store.events(row.job_id)]}
            for row in self.store.table.rows.values()
        ]

    def after_reap(self, due: Mapping[JobId, tuple[datetime, float]]) -> None:
        """Its dice are ours."""


class MemoryHistories(Histories):
    runner: ClassVar[asyncio.Runner]

    def sides(self) -> list[Side]:
        return [InMemory()]

    def run(self, work: Coroutine[object, object, T]) -> T:
        return self.runner.run(work)


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


def test_two_thousand_histories_in_memory(runner: asyncio.Runner) -> None:
    MemoryHistories.runner = runner
    many = settings(max_examples=2000 * TIMES, stateful_step_count=30, suppress_health_check=_UNHURRIED)
    run_state_machine_as_test(MemoryHistories, settings=many)
