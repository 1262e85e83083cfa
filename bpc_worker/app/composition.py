"""Composition root: puts a process together, runs it, and takes it apart again."""

import asyncio
import gc
import sys
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial

import uvloop
from prometheus_client import CollectorRegistry

from bpc_worker import __version__
from bpc_worker.app.base import Base
from bpc_worker.app.equipment import equipment_of
from bpc_worker.app.job_work import JobWork, job_work
from bpc_worker.app.suspect_watch import WorkBesideSuspects, suspect_watch
from bpc_worker.app.upkeep import announcing, upkeep_of
from bpc_worker.app.wake_ups import notifier, notify_listener, trigger_listener
from bpc_worker.config.settings import Settings
from bpc_worker.engine.background import Duty, around
from bpc_worker.engine.handler_thread import HandlerThread
from bpc_worker.engine.health import Health
from bpc_worker.engine.held_bytes import HeldBytes
from bpc_worker.engine.maintenance.suspects import SuspectWatch
from bpc_worker.engine.worker import Engine, Work
from bpc_worker.observability import log
from bpc_worker.observability.http import ProbeServer
from bpc_worker.observability.metrics import Metrics
from bpc_worker.observability.tracing import NO_TRACER, Tracer
from bpc_worker.postgres import sql_files
from bpc_worker.postgres.migrate import known, schema_problem
from bpc_worker.postgres.queue.roster import Roster
from bpc_worker.postgres.queue.store import PostgresJobs
from bpc_worker.postgres.schema import read_ledger
from bpc_worker.registry import Registry
from bpc_worker.wiring import call_timeout, dsn, queue_settings, tracer

_log = log.get("app")

_SWITCH_SECONDS = 0.0005  # for no longer does a handler that computes keep the control loop waiting
_COLLECT_EVERY = 20_000  # new objects; jobs leave no reference cycles behind, so there is little to find

Duties = tuple[Callable[[], Coroutine[object, object, None]], ...]


class PortTakenError(Exception):
    """Somebody else listens where the probes should."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What this process is for."""

    works: bool = True
    reaps: bool = True
    produces: Duty | None = None
    serves: Callable[[CollectorRegistry], Coroutine[object, object, None]] | None = None
    until_empty: bool = False


async def serve(settings: Settings, registry: Registry, url: str, plan: Plan) -> int:
    """Run a worker until it is told to stop; its exit code."""
    base = base_of(settings, registry, url)
    spans = tracer(settings)
    handlers = HandlerThread()
    equipment, close_handlers = equipment_of(base)
    listener = trigger_listener(base) if plan.works or plan.produces else None
    notify = notifier(base, listener)
    hooks = around(base.wake, base.health, base.metrics, partial(notify, None), alone=not plan.works)
    bell = notify_listener(base) if plan.works else None
    work = job_work(base, handlers, equipment, traced(spans), notify) if plan.works else None
    suspects = None if work is None else suspect_watch(base, notify)
    upkeep = upkeep_of(base, tell=hooks.tell)
    roster = _roster(base, plan) if plan.works or plan.reaps else None
    endless = {
        "suspects": None if suspects is None or plan.until_empty else suspects.run,
        "roster": None if roster is None else announcing(upkeep.care, roster),
        "broker": None if listener is None else listener.run,
        "bell": None if bell is None else bell.run,
        "producer": None if plan.produces is None else partial(plan.produces, hooks),
        "doors": None if plan.serves is None else partial(plan.serves, base.metrics.registry),
    }
    engine = Engine(
        health=base.health,
        store=roster or base.store,
        handlers=handlers,
        wake=base.wake,
        work=_work(work, suspects),
        duties=(
            *(() if work is None else work.duties),
            *(upkeep.duties if plan.reaps else ()),
            *(upkeep.care.endless(name, run) for name, run in endless.items() if run is not None),
        ),
        schema_problem=lambda: schema_check(settings, url),
        grace_seconds=settings.worker.shutdown_grace_seconds,
        close_handlers=close_handlers,
    )
    code = await _run_and_close(base, plan, handlers, work, engine)
    if code == 0:  # else there is no time left
        spans.close()
    return code


async def _run_and_close(
    base: Base, plan: Plan, handlers: HandlerThread, work: JobWork | None, engine: Engine
) -> int:
    try:
        return await _with_probes(base.settings, plan, _probes(base, handlers, work), engine)
    finally:
        for part in (base.store, work):
            if part is not None:
                part.close()


def base_of(settings: Settings, registry: Registry, url: str, metrics: Metrics | None = None) -> Base:
    health = Health(require_queue=settings.health.require_queue, lease_seconds=settings.jobs.lease_seconds)
    store = PostgresJobs(
        dsn(settings, url, engine=True, suppress_insert_notify=True), queue_settings(settings, registry)
    )
    held = HeldBytes(settings.worker.held_bytes)
    metrics = metrics or Metrics(types=registry, queues=settings.worker.queues)
    metrics.held(lambda: held.used, lambda: held.waiting)
    return Base(
        settings=settings, registry=registry, url=url, store=store, health=health, held=held, metrics=metrics
    )  # fmt: skip


def _work(work: JobWork | None, suspects: SuspectWatch | None) -> Work | None:
    if work is None or suspects is None:
        return None
    both = WorkBesideSuspects(work, suspects)
    return Work(claiming=both, jobs=both)


def traced(spans: Tracer) -> Tracer | None:
    return None if spans is NO_TRACER else spans


def _roster(base: Base, plan: Plan) -> Roster:
    return Roster(
        base.store.upkeep,
        queue_settings(base.settings, base.registry),
        slots=base.settings.worker.concurrency if plan.works else 0,
        interval_seconds=base.settings.reaper.interval_seconds,
        call_timeout=call_timeout(base.settings),
        pulse_link=base.store.reaps,
    )


def _probes(base: Base, handlers: HandlerThread, work: JobWork | None) -> ProbeServer:
    return ProbeServer(
        live=lambda: base.health.live(
            lambda: handlers.ticked_at, in_time=work is not None and work.jobs.inside_time_outs
        ),
        ready=base.health.ready,
        metrics=lambda: base.metrics.text(dropped_log_keys=log.dropped_keys()),
    )


async def _with_probes(settings: Settings, plan: Plan, probes: ProbeServer, engine: Engine) -> int:
    if not plan.until_empty:
        host, wanted = settings.http.host, settings.http.port
        try:
            port = await probes.start(host, wanted)
        except OSError as error:
            raise PortTakenError(
                f"cannot listen on {host}:{wanted}: {error.strerror}; "
                "set BPC_HTTP_PORT to a free port, or to 0 for any"
            ) from error
        _log.info("started", worker_id=settings.worker.id, version=__version__, port=port)
    try:
        code = await engine.run(until_empty=plan.until_empty)
        _log.info("stopped")
        return code
    finally:
        await probes.stop()


async def schema_check(settings: Settings, url: str) -> str | None:
    return schema_problem(await read_ledger(dsn(settings, url)), known())


def run(settings: Settings, registry: Registry, url: str, plan: Plan) -> int:
    sql_files.read_all()
    return in_loop(serve(settings, registry, url, plan))


def in_loop(process: Coroutine[object, object, int]) -> int:
    """The whole life of a process."""
    gc.freeze()  # modules and settings stay: no need to look through them again and again
    gc.set_threshold(_COLLECT_EVERY)
    sys.setswitchinterval(_SWITCH_SECONDS)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as loop:
        return loop.run(process)
