"""The parts that claim and run jobs, put together."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass

from bpc_worker import ids
from bpc_worker.app.base import Base
from bpc_worker.engine.beginnings import Beginnings
from bpc_worker.engine.claiming.intake import Intake, IntakeParts
from bpc_worker.engine.claiming.rate_limits import RateLimits
from bpc_worker.engine.claiming.slots import Slots
from bpc_worker.engine.claiming.suspects import OneSlot, SuspectsOnly
from bpc_worker.engine.clock import seconds_since_boot
from bpc_worker.engine.context import Equipment
from bpc_worker.engine.handler_thread import HandlerThread
from bpc_worker.engine.lease import LeaseKeeper, LeaseTiming
from bpc_worker.engine.runner import Runner
from bpc_worker.engine.running_job import JobParts
from bpc_worker.engine.running_jobs import RunningJobs
from bpc_worker.engine.settler import Settler
from bpc_worker.observability.tracing import Tracer
from bpc_worker.postgres.connection import Link
from bpc_worker.postgres.queue.type_limits import TypeLimit, TypeLimits
from bpc_worker.wiring import call_timeout, dsn

Notify = Callable[[str | None], None]  # other workers, with the trace that new jobs belong to


@dataclass(frozen=True, slots=True)
class JobWork:
    runner: Runner
    jobs: RunningJobs
    duties: tuple[Callable[[], Coroutine[object, object, None]], ...]
    close: Callable[[], None]


def job_work(
    base: Base,
    handlers: HandlerThread,
    equipment: Equipment,
    tracer: Tracer | None,
    notify: Notify,
    *,
    watcher: str | None = None,
) -> JobWork:
    """`watcher`: under whose watch this process runs suspects, and nothing else."""
    stuck = asyncio.Event()  # a handler ignores its cancellation: the process has to end
    poll_seconds = base.settings.jobs.poll_interval_ms / 1000
    settler = Settler(base.store, equipment.settlement, on_database=base.health.note_holder)
    keeper = _keeper(base)
    alone = watcher is not None
    slots, limits = _slots(base, equipment, alone=alone), _rate_limits(base, alone=alone)
    base.metrics.slots(lambda: slots.taken)
    taking = IntakeParts(
        store=base.store if watcher is None else SuspectsOnly(base.store, watcher),
        settler=settler, slots=slots, rate_limits=limits, wake=base.wake,
        health=base.health, metrics=base.metrics, clock=seconds_since_boot,
        claim_bytes=base.settings.worker.claim_bytes,
    )  # fmt: skip
    intake = Intake(taking, poll_seconds=poll_seconds, stuck=stuck)
    beginnings = Beginnings(
        base.store, start_prepared=handlers.start_prepared, on_database=base.health.note_database
    )
    parts = JobParts(
        keeper=keeper, settler=settler, handlers=handlers, beginnings=beginnings,
        equipment=equipment, metrics=base.metrics,
        clock=seconds_since_boot, default_timeout=base.settings.worker.job_timeout_seconds,
        leave_slot=intake.leave_slot, on_stuck=stuck.set, tracer=tracer,
    )  # fmt: skip
    jobs = RunningJobs(
        parts, intake, base.registry, base.wake, base.metrics,
        notify_other_workers=notify, stuck=stuck,
    )  # fmt: skip
    runner = Runner(intake, jobs, settler, base.wake, base.metrics, poll_seconds=poll_seconds, dice=ids.dice)
    close = (lambda: None) if limits is None else limits.close
    return JobWork(runner, jobs, (keeper.keep, keeper.fence, keeper.watch_cancels, jobs.watch), close)


def _keeper(base: Base) -> LeaseKeeper:
    timing = LeaseTiming(
        lease_seconds=base.settings.jobs.lease_seconds, renew_seconds=base.settings.jobs.lease_renew_seconds
    )
    return LeaseKeeper(
        base.store, timing, dice=ids.dice,
        on_renewed=base.metrics.renewed, on_database=base.health.note_holder,
    )  # fmt: skip


def _slots(base: Base, equipment: Equipment, *, alone: bool) -> Slots:
    return (OneSlot if alone else Slots)(
        base.settings.worker.concurrency,
        in_children=[name for name, spec in base.registry.items() if spec.child_tasks],
        max_useful_jobs=lambda: equipment.children.max_useful_jobs,
        io_bound=[name for name, spec in base.registry.items() if spec.waits_outside],
        types=base.registry,
    )


def _rate_limits(base: Base, *, alone: bool) -> RateLimits | None:
    """By those rate limits that are about job types of this worker; without any, nobody is asked."""
    limits = {
        name: TypeLimit(per_second=rate.per_second, burst=rate.burst)
        for name, rate in base.settings.rate_limits.items()
        if name in base.registry
    }
    if not limits:
        return None
    limit = call_timeout(base.settings)
    link = Link(dsn(base.settings, base.url, engine=True).for_answers_within(limit))
    tokens = TypeLimits(
        link,
        limits,
        types=sorted(base.registry),
        queues=base.settings.worker.queues,
        call_timeout=limit,
        suspects=alone,
    )
    return RateLimits(limits, tokens, base.metrics.rate_limited)
