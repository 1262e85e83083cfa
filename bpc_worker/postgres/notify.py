"""PostgreSQL's own bell: LISTEN on a connection of its own, and one NOTIFY for many jobs."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress

from bpc_worker.ids import spread
from bpc_worker.jobs.errors import JobError
from bpc_worker.observability import log
from bpc_worker.postgres.connection import Link
from bpc_worker.postgres.dsn import Dsn

_log = log.get("bell")

JOBS, PUBLIC_CHANGES = "bpc_jobs", "bpc_public"  # channels: of new jobs, of what the public door shows
_ASK = b"SELECT 1"
_ASK_SECONDS = 15.0  # a line that says nothing may be dead: ask
_LONGEST_BACKOFF = 15.0


class NotifyListener:
    """Hears NOTIFY on a socket of its own, which it watches itself: psycopg, waiting for notifications,
    keeps everybody else from the connection.
    """

    def __init__(
        self,
        dsn: Dsn,
        *,
        on_ring: Callable[[], None],
        on_state: Callable[[bool], None],
        timeout: float,
        channel: str = JOBS,
    ) -> None:
        self._link = Link(dsn)
        self._on_ring = on_ring
        self._on_state = on_state
        self._timeout = timeout
        self._listen_to = f"LISTEN {channel}".encode()

    async def run(self) -> None:
        """For ever: connect, listen until something breaks, wait a little longer each time."""
        failures = 0
        while True:
            began_at = time.monotonic()
            try:
                await self._listen()
            except JobError as error:
                failures = 1 if time.monotonic() - began_at > _ASK_SECONDS else failures + 1
                delay = spread(min(_LONGEST_BACKOFF, 0.5 * 2 ** min(failures, 10)), 0.25)
                say = _log.warning if failures == 1 else _log.debug
                say("bell_unavailable", error_message=error.message, delay_s=round(delay, 2))
                await asyncio.sleep(delay)
            finally:
                self._on_state(False)
                self._link.drop()

    async def _listen(self) -> None:
        await self._link.run(self._listen_to, timeout=self._timeout)
        self._on_state(True)
        self._on_ring()  # for what came while nobody listened
        while True:
            await self._hear(_ASK_SECONDS)
            await self._link.run(_ASK, timeout=self._timeout)
            self._on_ring()  # what came together with the answer was not seen

    async def _hear(self, seconds: float) -> None:
        """Ring whenever PostgreSQL does, for a while; Unavailable when the line breaks."""
        with self._link.watched(self._on_ring) as broken, suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await broken


class NotifySender:
    """Wakes the workers that listen; many rings while one is under way are one more."""

    def __init__(self, notify: Callable[[], Awaitable[None]]) -> None:
        self._notify = notify
        self._again = False
        self._task: asyncio.Task[None] | None = None

    def ring(self) -> None:
        if self._task is not None and not self._task.done():
            self._again = True
            return
        self._task = asyncio.create_task(self._ring())

    async def done(self) -> None:
        if self._task is not None:
            await self._task

    async def _ring(self) -> None:
        while True:
            self._again = False
            try:
                await self._notify()
            except JobError as error:  # the others poll
                _log.warning("bell_not_rung", error_code=error.code, error_message=error.message)
            except Exception as error:  # noqa: BLE001 - a bug of ours, and no more than that
                _log.error("bell_not_rung", exc_info=error)
            if not self._again:
                return
