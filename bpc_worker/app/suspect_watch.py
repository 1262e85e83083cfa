"""A worker that looks after suspects: its watch, and the process that it starts for them."""

import asyncio
import os
from collections.abc import Callable, Coroutine

import msgspec

from bpc_worker import ids
from bpc_worker.app.base import Base
from bpc_worker.app.job_work import JobWork, Notify
from bpc_worker.config.settings import Settings
from bpc_worker.engine.maintenance.suspects import SuspectWatch
from bpc_worker.observability.metrics import Metrics
from bpc_worker.processes.helper import Helper, Word

ARGUMENTS = ("run", "--suspects")
# What the process of suspects counts and does not show: it has no port for that.
RELAYED = frozenset(
    {"acquired", "settled", "failed", "retried", "produced", "lease_lost", "renewed", "looked"}
    | {"rate_limited", "observe", "count"}
)
_LOOKS_PER_PASS = 3  # of the reaper, which makes suspects


class SuspectOrders(msgspec.Struct, frozen=True):
    """What the process of suspects is told, over its pipe."""

    starter: int  # who that is
    watcher: str
    url: str
    settings: Settings


def suspect_watch(base: Base, notify: Notify) -> SuspectWatch:
    watcher = f"{base.settings.worker.id} {ids.nonce()}"  # names of workers need not differ
    orders = SuspectOrders(os.getpid(), watcher, base.url, base.settings)

    async def start() -> Helper:
        return await Helper.start(ARGUMENTS, msgspec.json.encode(orders))

    return SuspectWatch(
        base.store,
        watcher,
        start,
        base.metrics,
        on_word=_hear(base.metrics, notify),
        interval_seconds=base.settings.reaper.interval_seconds / _LOOKS_PER_PASS,
        spread=ids.spread,
    )


def _hear(metrics: Metrics, notify: Notify) -> Callable[[Word], None]:
    def hear(word: Word) -> None:
        if word.name in RELAYED:
            getattr(metrics, word.name)(*word.args, **word.named)
        elif word.name == "jobs_queued":
            [trace] = word.args
            notify(trace if isinstance(trace, str) else None)

    return hear


class WorkBesideSuspects:
    """The jobs of this process and those of the process of suspects, for the engine: claimed until none is
    left, and ended in good order.
    """

    def __init__(self, work: JobWork, suspects: SuspectWatch) -> None:
        self._work = work
        self._suspects = suspects

    def run(self, stop: asyncio.Event) -> Coroutine[object, object, None]:
        """The suspects' part of this is a background task."""
        return self._work.runner.run(stop)

    async def run_until_empty(self, stop: asyncio.Event) -> None:
        """Suspects come last; what follows from them may be anybody's."""
        await self._work.runner.run_until_empty(stop)
        while not stop.is_set() and await self._suspects.run_due():
            await self._work.runner.run_until_empty(stop)

    @property
    def busy(self) -> int:
        return self._work.jobs.busy

    @property
    def stuck(self) -> asyncio.Event:
        return self._work.jobs.stuck

    async def drain(self, *, grace: float, hurry: asyncio.Event) -> None:
        await asyncio.gather(
            self._work.jobs.drain(grace=grace, hurry=hurry), self._suspects.stop(grace=grace, hurry=hurry)
        )

    async def ended(self, *, within: float) -> bool:
        ended, _ = await asyncio.gather(
            self._work.jobs.ended(within=within), self._suspects.ended(within=within)
        )
        return ended

    async def abandon(self, *, within: float) -> None:
        await self._work.jobs.abandon(within=within)


class RelayedMetrics(Metrics):
    """Tells the worker that watches what there was to count."""

    def __init__(self, tell: Callable[..., None]) -> None:
        super().__init__()
        for name in RELAYED:
            setattr(self, name, _relay(tell, name))


def _relay(tell: Callable[..., None], name: str) -> Callable[..., None]:
    def relay(*args: object, **named: object) -> None:
        tell(name, *args, **named)

    return relay
