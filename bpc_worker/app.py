"""Composition root: the only module that knows every concrete class."""

import asyncio
import gc
import sys
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial

import uvloop

from bpc_worker import __version__, log
from bpc_worker.adapters import ids
from bpc_worker.adapters.amqp import TriggerListener
from bpc_worker.adapters.children import ChildLimits, Children
from bpc_worker.adapters.http import ProbeServer
from bpc_worker.adapters.metrics import Metrics
from bpc_worker.adapters.migrate import known, schema_problem
from bpc_worker.adapters.postgres.bell import BellListener, Ringer
from bpc_worker.adapters.postgres.jobs import PostgresJobs
from bpc_worker.adapters.postgres.roster import Roster
from bpc_worker.adapters.postgres.schema import read_ledger
from bpc_worker.adapters.postgres.unit_of_work import LinkPool, Transactions
from bpc_worker.breaker import Breakers
from bpc_worker.config import Settings
from bpc_worker.context import Equipment
from bpc_worker.duties import Duty, around
from bpc_worker.engine import Engine
from bpc_worker.handler_loop import HandlerLoop
from bpc_worker.health import Health
from bpc_worker.jobs.model import Claim, Settleable
from bpc_worker.jobs.settlement import Settlement, settlement
from bpc_worker.lease import LeaseKeeper, LeaseTiming
from bpc_worker.registry import Registry
from bpc_worker.runner import Pace, Parts, Runner
from bpc_worker.settler import Settler
from bpc_worker.slots import Slots
from bpc_worker.supervisor import Supervisor
from bpc_worker.tracing import NO_TRACER, Tracer
from bpc_worker.turnstile import Turnstiles
from bpc_worker.upkeep import upkeep_of
from bpc_worker.wake import Wake
from bpc_worker.wiring import (
    backoff,
    breaker_rules,
    broker,
    call_timeout,
    dsn,
    egress_rules,
    keyring,
    policy,
    poster,
    queue_settings,
    throttle,
)

# Those of wiring are the composition root's, too: whoever opens a database asks here.
__all__ = [
    "Plan",
    "PortTakenError",
    "backoff",
    "broker",
    "call_timeout",
    "dsn",
    "egress_rules",
    "keyring",
    "policy",
    "queue_settings",
    "run",
    "serve",
]

_log = log.get("app")

_SWITCH_SECONDS = 0.0005  # for no longer does a handler that computes keep the control loop waiting
_COLLECT_EVERY = 20_000  # new objects; jobs leave no circles behind, so there is little to find


class PortTakenError(Exception):
    """Somebody else listens where the probes should."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What this process is for."""

    works: bool = True
    reaps: bool = True
    produces: Duty | None = None
    until_empty: bool = False


async def serve(settings: Settings, registry: Registry, url: str, plan: Plan) -> int:
    """Run a worker until it is told to stop; its exit code."""
    metrics = Metrics()
    spans = tracer(settings)
    wake = Wake()
    health = Health(require_queue=settings.health.require_queue, lease_seconds=settings.jobs.lease_seconds)
    store = PostgresJobs(dsn(settings, url, engine=True, quiet=True), queue_settings(settings, registry))
    keeper = LeaseKeeper(
        store,
        LeaseTiming(
            lease_seconds=settings.jobs.lease_seconds,
            renew_seconds=settings.jobs.lease_renew_seconds,
        ),
        dice=ids.dice,
        on_renewed=metrics.renewed,
        on_database=health.note_database,
    )
    listener = _listener(settings, wake, health, metrics) if plan.works or plan.produces else None
    tell_others = _teller(listener, store)
    surroundings = around(wake, health, metrics, partial(tell_others, None), alone=not plan.works)
    bell = _bell(settings, url, wake, metrics) if plan.works else None
    handlers = HandlerLoop()
    equipment, close_handlers = _equipment(settings, registry, url, metrics)
    limits = throttle(settings, registry, url, on_limited=metrics.rate_limited)
    runner = None
    if plan.works:
        stuck = asyncio.Event()
        settler = Settler(store, equipment.settlement, on_database=health.note_database)
        supervisor = Supervisor(
            keeper=keeper,
            settler=settler,
            handlers=handlers,
            equipment=equipment,
            metrics=metrics,
            on_stuck=stuck.set,
            tracer=spans,
        )
        parts = Parts(
            store=store,
            supervisor=supervisor,
            settler=settler,
            handlers=handlers,
            registry=registry,
            slots=_slots(settings, registry, equipment),
            throttle=limits,
            wake=wake,
            health=health,
            metrics=metrics,
            tell_others=tell_others,
        )
        runner = Runner(parts, _pace(settings), stuck=stuck)
    upkeep = upkeep_of(settings, url, store, health, metrics, tell=surroundings.tell)
    roster = Roster(
        dsn(settings, url, engine=True), queue_settings(settings, registry),
        slots=settings.worker.concurrency if plan.works else 0,
        interval_seconds=settings.reaper.interval_seconds, spread=ids.spread,
    )  # fmt: skip
    engine = Engine(
        health=health,
        store=store,
        handlers=handlers,
        wake=wake,
        runner=runner,
        duties=(
            *((keeper.keep, keeper.fence) if plan.works else ()),
            *((runner.watch_time_outs,) if runner is not None else ()),
            *(upkeep.duties if plan.reaps else ()),
            *((roster.run,) if plan.works or plan.reaps else ()),
            *((listener.run,) if listener is not None else ()),
            *((bell.run,) if bell is not None else ()),
            *((partial(plan.produces, surroundings),) if plan.produces else ()),
        ),
        schema_problem=lambda: _schema_problem(settings, url),
        grace_seconds=settings.worker.shutdown_grace_seconds,
        close_handlers=close_handlers,
    )
    probes = ProbeServer(
        live=lambda: health.live(
            lambda: handlers.ticked_at, in_time=runner is not None and runner.inside_time_outs
        ),
        ready=health.ready,
        metrics=lambda: metrics.text(dropped_log_keys=log.dropped_keys()),
    )
    try:
        code = await _with_probes(settings, plan, probes, engine)
    finally:
        for part in (store, limits, upkeep):
            part.close()
    if code == 0:  # else there is no time left
        spans.close()
    return code


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


def _listener(settings: Settings, wake: Wake, health: Health, metrics: Metrics) -> TriggerListener | None:
    if not settings.queue.enabled or settings.queue.url is None:
        return None

    def heard() -> None:
        metrics.triggered()
        wake.ring("amqp")

    def state(connected: bool) -> None:  # noqa: FBT001 - a callback with one fact
        health.broker_connected = connected
        metrics.broker(connected=connected)

    return TriggerListener(broker(settings, settings.queue.url), on_trigger=heard, on_state=state)


def _teller(listener: TriggerListener | None, store: PostgresJobs) -> Callable[[str | None], None]:
    """How other workers hear of new jobs."""
    if listener is not None:
        return listener.publish
    ringer = Ringer(store.ring)
    return lambda _: ringer.ring()


def tracer(settings: Settings) -> Tracer:
    if not settings.tracing.enabled or settings.tracing.endpoint is None:
        return NO_TRACER
    from bpc_worker.adapters.tracing import to_collector

    return to_collector(settings.tracing.endpoint, worker_id=settings.worker.id)


def _bell(settings: Settings, url: str, wake: Wake, metrics: Metrics) -> BellListener | None:
    if not settings.notify.enabled:
        return None
    return BellListener(
        dsn(settings, settings.database.direct_url or url),
        on_ring=lambda: wake.ring("notify"),
        on_state=lambda listening: metrics.bell(listening=listening),
        timeout=call_timeout(settings),
    )


def _equipment(
    settings: Settings, registry: Registry, url: str, metrics: Metrics
) -> tuple[Equipment, Callable[[], Coroutine[object, object, None]]]:
    pool = LinkPool(dsn(settings, url, quiet=True), settings.database.handler_connections)
    metrics.pool(lambda: pool.in_use)
    children = Children(
        ChildLimits(
            processes=settings.worker.processes,
            memory_mb=settings.worker.child_memory_mb,
            cpu_seconds=round(settings.worker.child_cpu_seconds),
        )
    )
    curve = backoff(settings)

    def settle(claim: Claim, outcome: Settleable) -> Settlement:
        return settlement(claim, outcome, backoff=curve, dice=ids.dice())

    egress = poster(settings)

    async def close() -> None:
        pool.close()
        await egress.close()
        await children.close()

    equipment = Equipment(
        database=Transactions(
            pool,
            queue_settings(settings, registry),
            timeout=call_timeout(settings),
            # The server's own limit comes first, and is an answer; silence is noticed a little later.
            statement_timeout=settings.database.statement_timeout_seconds + call_timeout(settings),
        ),
        children=children,
        commands=settings.commands,
        policy=policy(settings),
        keyring=keyring(settings),
        breakers=Breakers(breaker_rules(settings), clock=time.monotonic, on_state=metrics.breaker),
        egress=egress,
        turnstiles=Turnstiles(settings.webhook.endpoint_concurrency, clock=time.monotonic),
        settlement=settle,
        metrics=metrics,
    )
    return equipment, close


def _slots(settings: Settings, registry: Registry, equipment: Equipment) -> Slots:
    return Slots(
        settings.worker.concurrency,
        in_children=[name for name, spec in registry.items() if spec.child_tasks],
        worth_holding=lambda: equipment.children.worth_holding,
        outside=[name for name, spec in registry.items() if spec.waits_outside],
    )


def _pace(settings: Settings) -> Pace:
    return Pace(
        poll_seconds=settings.jobs.poll_interval_ms / 1000,
        job_timeout_seconds=settings.worker.job_timeout_seconds,
        suspect_check_seconds=settings.jobs.lease_seconds / 4,
        spread=ids.spread,
    )


async def _schema_problem(settings: Settings, url: str) -> str | None:
    return schema_problem(await read_ledger(dsn(settings, url)), known())


def run(settings: Settings, registry: Registry, url: str, plan: Plan) -> int:
    gc.freeze()  # modules and settings stay: no need to look through them again and again
    gc.set_threshold(_COLLECT_EVERY)
    sys.setswitchinterval(_SWITCH_SECONDS)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as loop:
        return loop.run(serve(settings, registry, url, plan))
