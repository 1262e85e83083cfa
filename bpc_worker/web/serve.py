"""The doors of a process: settings to listeners, and what runs beside them until it is told to stop."""

import asyncio
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Final

from bpc_worker import __version__
from bpc_worker.app.composition import PortTakenError, in_loop, schema_check
from bpc_worker.config.settings import Settings
from bpc_worker.jobs.errors import JobError
from bpc_worker.observability import log
from bpc_worker.observability.http import ProbeServer
from bpc_worker.observability.listener import ListenerLimits, Listening
from bpc_worker.postgres import sql_files
from bpc_worker.registry import Registry
from bpc_worker.web.api.door import api_door
from bpc_worker.web.dashboard.door import dashboard_door
from bpc_worker.web.database.roles import Addresses, WebDatabase
from bpc_worker.web.database.tokens import StoredTokens
from bpc_worker.web.dpp.door import dpp_door
from bpc_worker.web.layer.handling import Handling, Rules
from bpc_worker.web.layer.limits import Buckets
from bpc_worker.web.layer.proxies import Proxies
from bpc_worker.web.layer.routes import Door
from bpc_worker.web.layer.streams import Streams
from bpc_worker.web.locks.lock import ProxyRules
from bpc_worker.web.meters import WebMetrics
from bpc_worker.web.parts import Parts
from bpc_worker.web.public.door import public_door

_log = log.get("web")

DOORS: Final = ("public", "dpp", "api", "dashboard")
_MAKE: Final[Mapping[str, Callable[[Parts], Door]]] = {
    "public": public_door,
    "dpp": dpp_door,
    "api": api_door,
    "dashboard": dashboard_door,
}
_LOOK_EVERY = 5.0


@dataclass(frozen=True, slots=True)
class Listens:
    """Where a listener is, and the doors behind it."""

    name: str
    host: str
    port: int
    doors: tuple[Door, ...]


class DatabaseState:
    """By the last that was heard: probes ask nobody."""

    def __init__(self) -> None:
        self.database = "not asked yet"
        self.schema = "not read yet"
        self.is_draining = False

    def ready(self) -> dict[str, str]:
        checks = {"database": self.database, "schema": self.schema}
        return checks | {"stopping": "the process is about to end"} if self.is_draining else checks


def listeners(settings: Settings, wanted: Sequence[str], parts: Parts) -> list[Listens]:
    """API and standard read interface share one."""
    made = {name: _MAKE[name](parts) for name in DOORS if name in wanted}
    public, api, dashboard = settings.public, settings.api, settings.dashboard
    found = [
        Listens("public", public.host, public.port, _of(made, "public")),
        Listens("api", api.host, api.port, _of(made, "api", "dpp")),
        Listens("dashboard", dashboard.host, dashboard.port, _of(made, "dashboard")),
    ]
    return [each for each in found if each.doors]


def _of(made: Mapping[str, Door], *names: str) -> tuple[Door, ...]:
    return tuple(made[name] for name in names if name in made)


def parts_of(settings: Settings, registry: Registry, url: str) -> Parts:
    main = settings.web.database_url or url
    addresses = Addresses(
        public=settings.public.database_url or main, main=main, replica=settings.database.read_url
    )
    database = WebDatabase(settings, registry, addresses)
    return Parts(settings=settings, registry=registry, database=database, tokens=StoredTokens(database))


def _rules(settings: Settings, parts: Parts, metrics: WebMetrics, streams: Streams) -> Rules:
    http = settings.http
    return Rules(
        proxies=Proxies(http.trusted_proxies, http.base_path),
        proxy_rules=ProxyRules(
            identity_header=http.identity_header, groups_header=http.groups_header, groups=http.groups
        ),
        tokens=parts.tokens,
        per_address=Buckets(http.requests_per_second, http.requests_burst),
        per_name=Buckets(http.token_requests_per_second, http.token_requests_burst),
        meter=metrics,
        streams=streams,
        body_seconds=http.body_seconds,
    )


def _limits(settings: Settings) -> ListenerLimits:
    http = settings.http
    return ListenerLimits(
        connections=http.connections, head_seconds=http.head_seconds, kept_seconds=60.0, send_seconds=30.0
    )


async def serve(settings: Settings, registry: Registry, url: str, wanted: Sequence[str]) -> int:
    """Until a signal; the exit code."""
    parts, metrics, streams, state = (
        parts_of(settings, registry, url),
        WebMetrics(),
        Streams(),
        DatabaseState(),
    )
    places = listeners(settings, wanted, parts)
    rules = _rules(settings, parts, metrics, streams)
    async with AsyncExitStack() as closing:
        closing.callback(parts.database.close)
        listening = {
            each.name: Listening(Handling(each.doors, rules).handle, _limits(settings)) for each in places
        }
        metrics.watch(listening, streams)
        ports = [await _start(each, listening[each.name], closing) for each in places]
        probes = ProbeServer(
            live=lambda: {"loop": "ok"},
            ready=state.ready,
            metrics=lambda: metrics.text(dropped_log_keys=log.dropped_keys()),
        )
        port = await _start_probes(settings, probes, closing)
        async with asyncio.TaskGroup() as tasks:
            duties = [duty for each in places for door in each.doors for duty in door.duties]
            running = [tasks.create_task(each()) for each in duties]
            running.append(tasks.create_task(_look(parts.database, settings, url, state)))
            for each, found in zip(places, ports, strict=True):
                _log.info("door_open", door=each.name, port=found)
            _log.info("started", worker_id=settings.worker.id, version=__version__, port=port)
            await _told_to_stop()
            state.is_draining = True
            streams.end()
            for task in running:
                task.cancel()
    _log.info("stopped")
    return 0


async def _start(each: Listens, listening: Listening, closing: AsyncExitStack) -> int:
    try:
        port = await listening.start(each.host, each.port)
    except OSError as error:
        raise PortTakenError(
            f"cannot listen on {each.host}:{each.port}: {error.strerror}; "
            f"set BPC_{each.name.upper()}_PORT to a free port, or to 0 for any"
        ) from error
    closing.push_async_callback(listening.stop)
    return port


async def _start_probes(settings: Settings, probes: ProbeServer, closing: AsyncExitStack) -> int:
    host, wanted = settings.http.host, settings.http.port
    try:
        port = await probes.start(host, wanted)
    except OSError as error:
        raise PortTakenError(
            f"cannot listen on {host}:{wanted}: {error.strerror}; "
            "set BPC_HTTP_PORT to a free port, or to 0 for any"
        ) from error
    closing.push_async_callback(probes.stop)
    return port


async def _look(database: WebDatabase, settings: Settings, url: str, state: DatabaseState) -> None:
    while True:
        try:
            await database.answers()
            state.database = "ok"
            if state.schema != "ok":
                state.schema = await schema_check(settings, url) or "ok"
        except (JobError, TimeoutError) as error:
            state.database = getattr(error, "message", None) or "it does not answer in time"
        await asyncio.sleep(_LOOK_EVERY)


async def _told_to_stop() -> None:
    told, loop = asyncio.Event(), asyncio.get_running_loop()
    for each in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(each, told.set)
    await told.wait()


def run(settings: Settings, registry: Registry, url: str, wanted: Sequence[str]) -> int:
    sql_files.read_all()
    return in_loop(serve(settings, registry, url, wanted))
