"""Tell the database who works here and what he handles: `jobs explain` asks who could run a job."""

import asyncio
import os
import socket
from collections.abc import Callable
from contextlib import suppress

from bpc_worker import __version__
from bpc_worker.jobs.errors import JobError
from bpc_worker.jobs.queue_settings import QueueSettings
from bpc_worker.observability import log
from bpc_worker.postgres.connection import Link
from bpc_worker.postgres.dsn import Dsn
from bpc_worker.postgres.gate import Allowance
from bpc_worker.postgres.sql_files import query

_log = log.get("roster")
_LEAVE_SECONDS = 0.5
_PASSES_PER_SIGN = 4  # a sign of life a minute, by default
_MISSED = 2.5  # so many intervals without a sign: gone


class Roster:
    """A connection for a moment, once in a while: not worth one of its own."""

    def __init__(
        self,
        dsn: Dsn,
        queue: QueueSettings,
        *,
        slots: int,  # 0: it only reaps
        interval_seconds: float,  # of the reaper
        spread: Callable[[float, float], float],
    ) -> None:
        self._dsn = dsn.for_answers_within(dsn.connect_timeout)
        self._allowance = Allowance()
        self._every = interval_seconds * _PASSES_PER_SIGN
        self._who: dict[str, object] = {
            "worker_id": queue.owner,
            "host": socket.gethostname(),
            "pid": os.getpid(),
        }
        self._what: dict[str, object] = {
            "release": __version__,
            "types": list(queue.types) if slots else [],
            "queues": list(queue.queues) if slots else [],
            "concurrency": slots,
            "for_seconds": self._every * _MISSED,
        }
        self._spread = spread

    async def run(self) -> None:
        """Announce until cancelled, then withdraw."""
        first = True
        try:
            while True:
                try:
                    await self.announce(first=first)
                except JobError as error:  # nobody needs it in order to work
                    _log.warning(
                        "worker_registration_failed", error_code=error.code, error_message=error.message
                    )
                else:
                    first = False
                await asyncio.sleep(self._spread(self._every, 0.25))
        finally:
            with suppress(JobError, TimeoutError):
                async with asyncio.timeout(_LEAVE_SECONDS):
                    await self.withdraw()

    async def announce(self, *, first: bool) -> None:
        await self._run("announce", self._who | self._what | {"first": first})

    async def withdraw(self) -> None:
        await self._run("withdraw", self._who)

    async def _run(self, name: str, params: dict[str, object]) -> None:
        link = Link(self._dsn, self._allowance)
        try:
            await link.run(query(f"workers/{name}"), params, timeout=self._dsn.connect_timeout)
        finally:
            link.drop()
