"""The doors of a process: settings to listeners, and what runs beside them for as long as they are open."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bpc_worker import wiring
from bpc_worker.app.composition import PortTakenError
from bpc_worker.config.settings import Settings
from bpc_worker.jobs.errors import JobError
from bpc_worker.observability import log
from bpc_worker.observability.listener import ListenerLimits, Listening
from bpc_worker.postgres.migrate import known, schema_problem
from bpc_worker.postgres.schema import read_ledger
from bpc_worker.registry import Registry
from bpc_worker.web.api.door import api_door
from bpc_worker.web.dashboard.door import dashboard_door
from bpc_worker.web.database.roles import READER, Addresses, WebDatabase
from bpc_worker.web.database.tokens import StoredTokens
from bpc_worker.web.dpp.door import dpp_door
from bpc_worker.web.layer.handling import Handling, Rules
from bpc_worker.web.layer.limits import Buckets
from bpc_worker.web.layer.proxies import Proxies
from bpc_worker.web.layer.routes import Door, Duty
from bpc_worker.web.layer.streams import Streams
from bpc_worker.web.locks.lock import ProxyRules
from bpc_worker.web.meters import WebMetrics
from bpc_worker.web.parts import Parts
from bpc_worker.web.public.door import public_door

_log = log.get("web")

_MAKE: Final[Mapping[str, Callable[[Parts], Door]]] = {
    "public": public_door,
    "dpp": dpp_door,
    "api": api_door,
    "dashboard": dashboard_door,
}
_LOOK_EVERY: Final = 5.0
_AGAIN_AFTER: Final = 2.0
_KEPT_SECONDS, _SEND_SECONDS = 60.0, 30.0


@dataclass(frozen=True, slots=True)
class Place:
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

    def heard(self, what: str) -> None:
        if what not in {"ok", self.database}:
            _log.warning("database_unreachable", error_message=what)
        self.database = what

    def ready(self) -> dict[str, str]:
        checks = {"database": self.database, "schema": self.schema}
        return checks | {"stopping": "the process is about to end"} if self.is_draining else checks


def places(settings: Settings, wanted: Sequence[str], parts: Parts) -> list[Place]:
    """API and standard read interface share one."""
    made = {name: make(parts) for name, make in _MAKE.items() if name in wanted}
    public, api, dashboard = settings.public, settings.api, settings.dashboard
    found = [
        Place("public", public.host, public.port, _of(made, "public")),
        Place("api", api.host, api.port, _of(made, "api", "dpp")),
        Place("dashboard", dashboard.host, dashboard.port, _of(made, "dashboard")),
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


class Doors:
    def __init__(
        self, settings: Settings, registry: Registry, url: str, wanted: Sequence[str], metrics: WebMetrics,
        *, grace: float,
    ) -> None:  # fmt: skip
        self._settings = settings
        self._url = settings.web.database_url or url
        self._parts = parts_of(settings, registry, url)
        self._streams = Streams()
        self._places = places(settings, wanted, self._parts)
        rules = _rules(settings, self._parts, metrics, self._streams)
        limits = _limits(settings)
        self._listening = {
            each.name: Listening(Handling(each.doors, rules).handle, limits, grace=grace)
            for each in self._places
        }
        metrics.watch(self._listening, self._streams)
        self.state = DatabaseState()

    async def open(self) -> None:
        """Or PortTakenError."""
        for each in self._places:
            try:
                port = await self._listening[each.name].start(each.host, each.port)
            except OSError as error:
                raise PortTakenError(
                    f"cannot listen on {each.host}:{each.port}: {error.strerror}; "
                    f"set BPC_{each.name.upper()}_PORT to a free port, or to 0 for any"
                ) from error
            _log.info("door_open", door=each.name, port=port)

    async def keep(self) -> None:
        """For ever: what belongs to the doors, and a look at the database."""
        duties = [duty for each in self._places for door in each.doors for duty in door.duties]
        async with asyncio.TaskGroup() as tasks:
            for duty in (self._look, *duties):
                tasks.create_task(_endless(duty))

    async def close(self, hurry: asyncio.Event | None = None) -> None:
        """Streams end at once; other requests are answered in the grace, or until somebody is in a hurry."""
        self.state.is_draining = True
        self._streams.end()
        stopped = asyncio.create_task(self._stop())
        hurried = asyncio.create_task((hurry or asyncio.Event()).wait())
        await asyncio.wait({stopped, hurried}, return_when=asyncio.FIRST_COMPLETED)
        for each in (stopped, hurried):
            each.cancel()
        await asyncio.gather(stopped, hurried, return_exceptions=True)
        self._parts.database.close()

    async def _stop(self) -> None:
        await asyncio.gather(*(each.stop() for each in self._listening.values()))

    async def _look(self) -> None:
        try:
            await self._parts.database.answers()
            if self.state.schema != "ok":
                ledger = await read_ledger(wiring.dsn(self._settings, self._url), role=READER)
                self.state.schema = schema_problem(ledger, known()) or "ok"
            self.state.heard("ok")
        except (JobError, TimeoutError) as error:
            self.state.heard(error.message if isinstance(error, JobError) else "no answer in time")
        await asyncio.sleep(_LOOK_EVERY if self.state.database == "ok" else _AGAIN_AFTER)


async def _endless(duty: Duty) -> None:
    """What it raises ends nothing but itself, and it begins anew."""
    while True:
        try:
            await duty()
            continue
        except JobError as error:
            _log.warning("web_duty_failed", error_code=error.code, error_message=error.message)
        except Exception as error:  # noqa: BLE001 - a bug of ours, and the doors stay open
            _log.error("web_duty_bug", exc_info=error)
        await asyncio.sleep(_AGAIN_AFTER)


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
    return ListenerLimits(
        connections=settings.http.connections,
        head_seconds=settings.http.head_seconds,
        kept_seconds=_KEPT_SECONDS,
        send_seconds=_SEND_SECONDS,
    )
