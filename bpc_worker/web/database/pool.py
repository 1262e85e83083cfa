"""A bounded number of connections of one login; each transaction says as whom it is."""

import asyncio
import math
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from time import monotonic
from typing import Final

from bpc_worker.jobs.errors import Code, SchemaMismatch, Unavailable
from bpc_worker.postgres.connection import Link
from bpc_worker.postgres.dsn import Dsn
from bpc_worker.postgres.gate import Allowance

_AWAY_SECONDS: Final = 1.0
# Said in every transaction: nothing that one left in its session counts in another.
_NOBODY: Final = {"bpc.tenant_id": "", "bpc.actor": ""}


class RolePool:
    def __init__(self, dsn: Dsn, size: int, *, patience: float) -> None:
        self._dsn = dsn
        self._allowance = Allowance(size=size)
        self._free = asyncio.Semaphore(size)
        self._patience = patience  # seconds until a connection is free
        self._idle: list[Link] = []
        self._clock = monotonic
        self._asked_again_at = -math.inf
        self.in_use = 0

    @asynccontextmanager
    async def acting(self, settings: Mapping[str, str]) -> AsyncIterator[Link]:
        """A connection, every transaction of which begins with these settings: the role among them."""
        await self._turn()
        link = self._idle.pop() if self._idle else Link(self._dsn, self._allowance)
        self.in_use += 1
        try:
            link.begin_with({**_NOBODY, **settings})
            yield link
        except Unavailable as error:
            if not isinstance(error, SchemaMismatch):
                self._is_away()
            raise
        finally:
            self.in_use -= 1
            self._free.release()
            if link.idle:
                self._idle.append(link)
            else:
                link.drop()  # inside a transaction, or broken: the server rolls it back

    def _is_away(self) -> None:
        """For a moment nobody waits to find out the same; what is still connected is looked at anew."""
        self._asked_again_at = self._clock() + _AWAY_SECONDS
        self.close()

    async def _turn(self) -> None:
        if self._clock() < self._asked_again_at:
            raise Unavailable(Code.DB_UNAVAILABLE, "the database was away a moment ago")
        try:
            async with asyncio.timeout(self._patience):
                await self._free.acquire()
        except TimeoutError:
            message = f"no connection was free for {self._patience:g} s"
            raise Unavailable(Code.DB_UNAVAILABLE, message) from None

    def close(self) -> None:
        while self._idle:
            self._idle.pop().drop()
