"""A duty that somebody else brings to a worker, and what it may use there."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Protocol

from bpc_worker.engine.health import Health
from bpc_worker.engine.wake import Wake
from bpc_worker.jobs.errors import JobError


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerHooks:
    stopping: Callable[[], bool]
    note_database: Callable[[JobError | None], None]
    tell: Callable[[], None]  # jobs were queued: look, here and elsewhere
    produced: Callable[[str, str], None]  # of which queue and type
    rate_limited: Callable[[], None]


Duty = Callable[[WorkerHooks], Coroutine[object, object, None]]


class DutyMetrics(Protocol):
    def produced(self, queue: str, job_type: str) -> None: ...

    def rate_limited(self) -> None: ...


def around(
    wake: Wake, health: Health, metrics: DutyMetrics, notify_other_workers: Callable[[], None], *, alone: bool
) -> WorkerHooks:
    """`alone`: nobody claims in this process, so it is the duty that finds out whether the schema fits."""

    def tell() -> None:
        wake.ring("produced")
        notify_other_workers()

    def note(error: JobError | None) -> None:
        if not alone:
            return  # those who claim and settle tell: that a file waits is no outage for jobs
        if error is None:
            health.note_claim()
        else:
            health.note_database(error)

    return WorkerHooks(
        stopping=lambda: health.draining,
        note_database=note,
        tell=tell,
        produced=metrics.produced,
        rate_limited=metrics.rate_limited,
    )
