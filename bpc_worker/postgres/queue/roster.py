"""Tell the database who works here and what he handles: `jobs explain` asks who could run a job."""

import asyncio
import os
import socket
from contextlib import suppress

from bpc_worker import __version__
from bpc_worker.jobs.errors import JobError
from bpc_worker.jobs.queue_settings import QueueSettings
from bpc_worker.postgres.connection import Link
from bpc_worker.postgres.sql_files import query

_LEAVE_SECONDS = 0.5
_PASSES_PER_SIGN = 4  # a sign of life a minute, by default
_MISSED = 2.5  # so many intervals without a sign: gone


class Roster:
    def __init__(
        self,
        link: Link,
        queue: QueueSettings,
        *,
        slots: int,  # 0: it only reaps
        interval_seconds: float,  # of the reaper
        call_timeout: float,
        pulse_link: Link | None = None,  # whose writes a pulse is about
    ) -> None:
        self._link = link
        self._pulse_link = pulse_link or link
        self._timeout = call_timeout
        self.every_seconds = interval_seconds * _PASSES_PER_SIGN
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
            "for_seconds": self.every_seconds * _MISSED,
        }
        self._first = True

    async def announce(self) -> None:
        await self._announce(self._link)

    async def withdraw(self) -> None:
        await self._run(self._link, "withdraw", self._who)

    async def leave(self) -> None:
        """Withdraw, if that is quick."""
        with suppress(JobError, TimeoutError):
            async with asyncio.timeout(_LEAVE_SECONDS):
                await self.withdraw()

    async def pulse(self) -> bool:
        """Write a sign of life: a server that answers questions may still keep nothing that it is told."""
        if not await self._run(self._pulse_link, "pulse", self._who):
            await self._announce(self._pulse_link)  # somebody took the row away, or nobody has made it yet
        return True

    async def _announce(self, link: Link) -> None:
        await self._run(link, "announce", self._who | self._what | {"first": self._first})
        self._first = False

    async def _run(self, link: Link, name: str, params: dict[str, object]) -> list[dict[str, object]]:
        return await link.run(query(f"workers/{name}"), params, timeout=self._timeout)
