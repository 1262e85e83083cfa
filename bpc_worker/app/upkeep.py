"""What a worker does for the queue as a whole, beside its own jobs: put together from the settings."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bpc_worker import ids
from bpc_worker.app.base import Base
from bpc_worker.config.settings import Settings
from bpc_worker.engine.maintenance.care import Care, Loop
from bpc_worker.engine.maintenance.lease_tables import TableReaper
from bpc_worker.engine.maintenance.pruning import Pruner
from bpc_worker.engine.maintenance.reaper import Reaper
from bpc_worker.engine.maintenance.sampler import Sampler
from bpc_worker.engine.maintenance.schedules import Planned, Scheduler
from bpc_worker.jobs.cron import Cron
from bpc_worker.postgres.queue.lease_tables import FurtherTable
from bpc_worker.postgres.queue.pruning import JobPages
from bpc_worker.postgres.queue.roster import Roster
from bpc_worker.postgres.queue.schedules import ScheduleBook
from bpc_worker.wiring import backoff, call_timeout, sample_rules, signs_status_lists

_SWEEP = "RETENTION_SWEEP"
_STATUS_LISTS = "SIGN_STATUS_LIST"


@dataclass(frozen=True, slots=True)
class Upkeep:
    duties: tuple[Loop, ...]
    care: Care


def upkeep_of(base: Base, *, tell: Callable[[], None]) -> Upkeep:
    """Reap, count, queue what the clock says. Nothing of it ends the process; but for the reaper it has one
    connection, `store.upkeep`, and no failure of it passes for an outage.
    """
    settings, metrics = base.settings, base.metrics
    care = Care(metrics, spread=ids.spread)
    reaper = Reaper(
        base.store,
        base.health,
        metrics,
        interval_seconds=settings.reaper.interval_seconds,
        spread=ids.spread,
    )
    duties = [care.endless("reaper", reaper.run), *_samples(base, care), *_chores(base, care)]
    planned = _planned(settings)
    if planned:
        duties.append(care.endless("schedules", _scheduler(base, planned, care, tell).run))
    return Upkeep(tuple(duties), care)


def _samples(base: Base, care: Care) -> Iterator[Loop]:
    settings, rules = base.settings, sample_rules(base.settings)
    sampler = Sampler(base.store.samples, base.metrics, rules)
    for task, look in (
        ("sampler", sampler.count_waiting),
        ("running", sampler.look_at_running),
        ("xmin", sampler.look_for_xmin),
        ("endpoints", sampler.look_for_disabled_endpoints),
    ):
        yield care.every(rules.interval_seconds, task, look)
    yield care.every(settings.reaper.interval_seconds, "overdue", sampler.note_overdue)


def _chores(base: Base, care: Care) -> Iterator[Loop]:
    """Those that are configured."""
    settings, link, limit = base.settings, base.store.upkeep, call_timeout(base.settings)
    tables = [
        FurtherTable(link, name, backoff=backoff(settings), call_timeout=limit)
        for name in settings.reaper.tables
        if name != "jobs"
    ]
    if tables:
        sweep = TableReaper(tables, base.metrics, spared_seconds=lambda: base.health.spared_seconds).sweep
        yield care.every(settings.reaper.interval_seconds, "lease_tables", sweep)
    kept_days = settings.jobs.retention_days
    if any(kept_days.values()):
        pages = JobPages(link, kept_days, call_timeout=limit)
        pruner = Pruner(pages, interval_seconds=settings.reaper.interval_seconds, spread=ids.spread)
        yield care.endless("pruning", pruner.run)


def _scheduler(base: Base, planned: dict[str, Planned], care: Care, tell: Callable[[], None]) -> Scheduler:
    def queued(queue: str, job_type: str) -> None:
        base.metrics.produced(queue, job_type)
        tell()

    book = ScheduleBook(base.store.upkeep, call_timeout=call_timeout(base.settings))
    return Scheduler(book, base.store, planned, on_queued=queued, care=care, spread=ids.spread)


def announcing(care: Care, roster: Roster) -> Loop:
    """Say who works here until cancelled, then that nobody does."""

    async def run() -> None:
        try:
            await care.every(roster.every_seconds, "roster", roster.announce)()
        finally:
            await roster.leave()

    return run


def _planned(settings: Settings) -> dict[str, Planned]:
    """What is configured; if nobody says when, what has a retention is swept every night and status lists are
    signed every hour where there is a key for it.
    """
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
    own = {
        "retention": ("17 3 * * *", _SWEEP, any(settings.retention.days.values())),
        "status_lists": ("23 * * * *", _STATUS_LISTS, signs_status_lists(settings)),
    }
    said = {planned.type for planned in configured.values()}
    return {
        name: Planned(cron=Cron.parse(cron), type=job_type, payload={}, tenant=None, queue=None)
        for name, (cron, job_type, wanted) in own.items()
        if wanted and job_type not in said
    } | configured
