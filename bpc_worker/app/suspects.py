"""The process of suspects: an ordinary worker with one slot, no upkeep and no port, that runs out of work."""

import asyncio
import os
import signal
from collections.abc import Callable
from dataclasses import replace

import msgspec

from bpc_worker.app.base import Base
from bpc_worker.app.composition import base_of, in_loop, schema_check, traced
from bpc_worker.app.equipment import equipment_of
from bpc_worker.app.job_work import job_work
from bpc_worker.app.suspect_watch import RelayedMetrics, SuspectOrders
from bpc_worker.config.settings import Settings
from bpc_worker.engine.handler_thread import HandlerThread
from bpc_worker.engine.maintenance.suspects import ALIVE
from bpc_worker.engine.worker import Engine, Work
from bpc_worker.jobs.errors import JobError
from bpc_worker.observability import log
from bpc_worker.processes.helper import Starter
from bpc_worker.registry import Registry
from bpc_worker.wiring import tracer

_log = log.get("suspects")

_BEAT_SECONDS = 1.0
_KEEPS_PER_LEASE = 3
_EARLIER = 2.0  # than the worker that waits for it


def hear() -> tuple[Starter, SuspectOrders]:
    """Who started this process, and what for; OSError or msgspec.DecodeError: somebody else did."""
    starter, orders = Starter.hear()
    told = msgspec.json.decode(orders, type=SuspectOrders)
    starter.die_with(told.starter)
    return starter, told


def run(starter: Starter, orders: SuspectOrders, registry: Registry) -> int:
    return in_loop(serve(starter, orders, registry))


async def serve(starter: Starter, orders: SuspectOrders, registry: Registry) -> int:
    """Its exit code, when no suspect is due any more."""
    starter.tell(ALIVE)
    settings = _own(orders.settings)
    base = base_of(settings, registry, orders.url, RelayedMetrics(starter.tell))
    spans, handlers = tracer(settings), HandlerThread()
    equipment, close_handlers = equipment_of(base)

    def notify(trace: str | None) -> None:
        starter.tell("jobs_queued", trace)

    work = job_work(base, handlers, equipment, traced(spans), notify, watcher=orders.watcher)

    def is_alive() -> bool:
        checks = base.health.live(lambda: handlers.ticked_at, in_time=work.jobs.inside_time_outs)
        return set(checks.values()) == {"ok"}

    engine = Engine(
        health=base.health,
        store=base.store,
        handlers=handlers,
        wake=base.wake,
        work=Work(claiming=work.runner, jobs=work.jobs),
        duties=(
            *work.duties,
            starter.attend,
            lambda: _beat(starter, is_alive),
            lambda: _keep_watch(base, orders.watcher),
        ),
        schema_problem=lambda: schema_check(settings, orders.url),
        grace_seconds=settings.worker.shutdown_grace_seconds,
        close_handlers=close_handlers,
    )
    try:
        code = await engine.run(until_empty=True)
    finally:
        base.store.close()
        work.close()
    if code == 0:  # else there is no time left
        spans.close()
    return code


def _own(settings: Settings) -> Settings:
    """With a name of its own, one slot, and gone before the worker that waits for it wants to be."""
    worker = replace(
        settings.worker,
        id=f"{settings.worker.id}-suspects-{os.getpid()}",
        concurrency=1,
        shutdown_grace_seconds=max(0.0, settings.worker.shutdown_grace_seconds - _EARLIER),
    )
    return replace(settings, worker=worker)


async def _beat(starter: Starter, is_alive: Callable[[], bool]) -> None:
    """As a probe would be answered: without it for a while, the worker ends this process."""
    while True:
        if is_alive():
            starter.tell(ALIVE)
        await asyncio.sleep(_BEAT_SECONDS)


async def _keep_watch(base: Base, watcher: str) -> None:
    """For as long as this process lives; when somebody else has it, they run the suspects from now on."""
    while True:
        try:
            if not await base.store.keep_suspects(watcher):
                _log.warning("suspects_watch_lost")
                signal.raise_signal(signal.SIGTERM)  # once: twice would mean at once
                await asyncio.Event().wait()
        except JobError as error:
            base.health.note_database(error)
        await asyncio.sleep(base.settings.jobs.lease_seconds / _KEEPS_PER_LEASE)
