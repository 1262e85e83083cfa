"""What a worker does for the queue as a whole, beside its own jobs: put together from the settings."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass

from bpc_worker import ids
from bpc_worker.app.base import Base
from bpc_worker.config.settings import Settings
from bpc_worker.engine.maintenance.lease_tables import TableReaper
from bpc_worker.engine.maintenance.pruning import Pruner
from bpc_worker.engine.maintenance.reaper import Chore, Reaper
from bpc_worker.engine.maintenance.sampler import Sampler
from bpc_worker.engine.maintenance.schedules import Planned, Scheduler
from bpc_worker.jobs.cron import Cron
from bpc_worker.jobs.errors import JobError, SchemaMismatch
from bpc_worker.observability.metrics import Metrics
from bpc_worker.postgres.connection import Link
from bpc_worker.postgres.queue.lease_tables import FurtherTable
from bpc_worker.postgres.queue.pruning import JobPages
from bpc_worker.postgres.queue.schedules import ScheduleBook
from bpc_worker.wiring import backoff, call_timeout, dsn, sample_rules

_SWEEP = "RETENTION_SWEEP"


Duty = Callable[[], Coroutine[object, object, None]]


@dataclass(frozen=True, slots=True)
class Upkeep:
    duties: tuple[Duty, ...]
    close: Callable[[], None]


def upkeep_of(base: Base, *, tell: Callable[[], None]) -> Upkeep:
    """Reap, count, queue what the clock says. What is not configured costs nothing, not even a connection."""
    settings, health, metrics = base.settings, base.health, base.metrics
    link = Link(dsn(settings, base.url, suppress_insert_notify=True))

    def note(error: JobError | None) -> None:
        """Jobs can be claimed and settled whether or not they can be counted."""
        if not isinstance(error, SchemaMismatch):
            health.note_database(error)

    rules = sample_rules(settings)
    sampler = Sampler(base.store.samples, metrics, rules, on_database=note, spread=ids.spread)
    reaper = Reaper(
        base.store,
        health,
        metrics,
        interval_seconds=settings.reaper.interval_seconds,
        spread=ids.spread,
        chores=(sampler.note_overdue, *_chores(settings, link, metrics)),
    )
    duties = (reaper.run, sampler.run, *_removal(settings, link))
    planned = _planned(settings)
    if not planned:
        return Upkeep(duties, link.drop)

    def queued(queue: str, job_type: str) -> None:
        metrics.produced(queue, job_type)
        tell()

    scheduler = Scheduler(
        ScheduleBook(link, call_timeout=call_timeout(settings)),
        base.store,
        planned,
        on_queued=queued,
        on_database=note,
        spread=ids.spread,
    )
    return Upkeep((*duties, scheduler.run), link.drop)


def _chores(settings: Settings, link: Link, metrics: Metrics) -> list[Chore]:
    limit = call_timeout(settings)
    chores: list[Chore] = []
    tables = [
        FurtherTable(link, name, backoff=backoff(settings), call_timeout=limit)
        for name in settings.reaper.tables
        if name != "jobs"
    ]
    if tables:
        chores.append(TableReaper(tables, metrics).sweep)
    return chores


def _removal(settings: Settings, link: Link) -> list[Duty]:
    kept_days = settings.jobs.retention_days
    if not any(kept_days.values()):
        return []
    pages = JobPages(link, kept_days, call_timeout=call_timeout(settings))
    return [Pruner(pages, interval_seconds=settings.reaper.interval_seconds, spread=ids.spread).run]


def _planned(settings: Settings) -> dict[str, Planned]:
    """What is configured; what has a retention is swept every night if nobody says when."""
    configured = {
        name: Planned(
            cron=Cron.parse(schedule.cron),
            type=schedule.type,
            payload=schedule.payload,
            tenant=schedule.tenant,
            queue=schedule.queue,
        )
        for name, schedule in settings.schedules.items()
    }
    swept = any(planned.type == _SWEEP for planned in configured.values())
    if swept or not any(settings.retention.days.values()):
        return configured
    nightly = Planned(cron=Cron.parse("17 3 * * *"), type=_SWEEP, payload={}, tenant=None, queue=None)
    return {"retention": nightly} | configured
