"""A process that opens doors, from its first refusal to its end in good order; or doors beside a worker."""

import asyncio
import resource
import signal
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from ipaddress import ip_address
from typing import Final

from prometheus_client import CollectorRegistry, Gauge

from bpc_worker import __version__, wiring
from bpc_worker.app.composition import PortTakenError, in_loop
from bpc_worker.config.settings import Settings
from bpc_worker.observability import log
from bpc_worker.observability.http import ProbeServer
from bpc_worker.postgres import sql_files
from bpc_worker.registry import Registry
from bpc_worker.web.database.tokens import any_token
from bpc_worker.web.doors import Doors
from bpc_worker.web.meters import WebMetrics

_log = log.get("web")

DOORS: Final = ("public", "dpp", "api", "dashboard")
_MOST_GRACE: Final = 60.0
_BESIDE_GRACE: Final = 1.0
_OTHER_FILES: Final = 200

Beside = Callable[[CollectorRegistry], Coroutine[object, object, None]]


class UnlockedError(Exception):
    """A door that shows more than the public one would be open to others, and nobody could show who he is."""


def unlocked(settings: Settings, wanted: Sequence[str]) -> str | None:
    """The first door beyond this machine that needs a lock: where nobody could come in, all could try."""
    hosts = {
        "dpp": settings.api.host,
        "api": settings.api.host,
        "dashboard": settings.dashboard.host,
    }
    return next((each for each in wanted if each in hosts and not _is_loopback(hosts[each])), None)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


async def check_locks(settings: Settings, url: str, wanted: Sequence[str]) -> None:
    """UnlockedError where such a door has neither a token nor a proxy that names whoever asks."""
    door = unlocked(settings, wanted)
    http = settings.http
    if door is None or (http.identity_header is not None and http.trusted_proxies and http.groups):
        return
    if not await any_token(wiring.dsn(settings, settings.web.database_url or url)):
        raise UnlockedError(
            f"the door {door} would be open beyond this machine, and there is no token in the database; "
            "make one with `bpc-worker token create`, or name http.trusted_proxies, http.identity_header "
            "and http.groups of a proxy that knows people"
        )


async def serve(settings: Settings, registry: Registry, url: str, wanted: Sequence[str]) -> int:
    """Until a signal; the exit code."""
    await check_locks(settings, url, wanted)
    registered = CollectorRegistry()
    Gauge("bpc_log_keys_dropped", "Log keys that were not allowed", registry=registered).set_function(
        log.dropped_keys
    )
    metrics = WebMetrics(registered)
    doors = Doors(settings, registry, url, wanted, metrics, grace=_grace(settings))
    probes = ProbeServer(
        live=lambda: {"loop": "ok"},
        ready=doors.state.ready,
        metrics=metrics.text,
    )
    _allow_open_files(len(wanted) * settings.http.connections + _OTHER_FILES)
    told, told_again = _signals()
    async with AsyncExitStack() as closing:
        port = await _start(settings, probes)
        closing.push_async_callback(probes.stop)
        closing.push_async_callback(doors.close, told_again)
        await doors.open()
        keeping = asyncio.create_task(doors.keep())
        closing.callback(keeping.cancel)
        _log.info("started", worker_id=settings.worker.id, version=__version__, port=port)
        await told.wait()
    _log.info("stopped")
    return 0


def beside(settings: Settings, registry: Registry, url: str, wanted: Sequence[str]) -> Beside:
    """The doors of a worker's process, until they are cancelled; its metrics are theirs."""
    made: list[WebMetrics] = []  # once, however often the doors are opened anew

    async def run(metrics: CollectorRegistry) -> None:
        if not made:
            made.append(WebMetrics(metrics))
        doors = Doors(settings, registry, url, wanted, made[0], grace=_BESIDE_GRACE)
        try:
            await doors.open()
            await doors.keep()
        finally:
            await doors.close()

    return run


def _signals() -> tuple[asyncio.Event, asyncio.Event]:
    """The first, and the second, which means: now."""
    first, second, loop = asyncio.Event(), asyncio.Event(), asyncio.get_running_loop()

    def heard() -> None:
        (second if first.is_set() else first).set()

    for each in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(each, heard)
    return first, second


def _allow_open_files(count: int) -> None:
    """As many as connections may take, where the system lets us; else a new one waits for another's end."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY
    most = count if hard == unlimited else min(count, hard)
    if soft not in {unlimited, hard} and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        soft = most
    if soft != unlimited and soft < count:
        _log.warning("few_open_files", count=soft)


def _grace(settings: Settings) -> float:
    return min(_MOST_GRACE, settings.worker.shutdown_grace_seconds)


async def _start(settings: Settings, probes: ProbeServer) -> int:
    host, wanted = settings.http.host, settings.http.port
    try:
        return await probes.start(host, wanted)
    except OSError as error:
        raise PortTakenError(
            f"cannot listen on {host}:{wanted}: {error.strerror}; "
            "set BPC_HTTP_PORT to a free port, or to 0 for any"
        ) from error


def run(settings: Settings, registry: Registry, url: str, wanted: Sequence[str]) -> int:
    sql_files.read_all()
    return in_loop(serve(settings, registry, url, wanted))
