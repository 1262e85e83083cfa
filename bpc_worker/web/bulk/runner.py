"""Carry out acts on many, page by page under a lease: when a server dies, another goes on.

A page acts and counts in one transaction, so nothing is done twice and nothing is left out.
"""

import asyncio
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import msgspec

from bpc_worker.jobs.errors import JobError
from bpc_worker.observability import log
from bpc_worker.operator.session import Operator
from bpc_worker.postgres.sql_files import query
from bpc_worker.rows import maybe
from bpc_worker.web.database.roles import WebDatabase
from bpc_worker.web.locks.identity import Identity, Kind

PAGE: Final = 500
LEASE_SECONDS: Final = 30.0
_CALL_SECONDS = 20.0  # less than a lease
_LOOK_EVERY = 2.0
_HELD_PAUSE = 1.0
_SERVER: Final = Identity("bulk", Kind.NOBODY)  # the events name who asked, not who carries it out

_log = log.get("bulk")


class _Taken(msgspec.Struct, frozen=True):
    bulk_act_id: UUID
    lease_token: UUID


class _Page(msgspec.Struct, frozen=True):
    act_status: str
    act_touched: int
    page_touched: int


@dataclass(slots=True)
class BulkRunner:
    database: WebDatabase
    owner: str
    page: int = PAGE
    lease_seconds: float = LEASE_SECONDS

    def __post_init__(self) -> None:
        self._asked = asyncio.Event()

    _asked: asyncio.Event = None  # type: ignore[assignment]  # made with it

    def wake(self) -> None:
        """There is one that this process was asked for."""
        self._asked.set()

    async def keep(self) -> None:
        """For as long as the door is open."""
        while True:
            try:
                busy = await self._carry_out_one()
            except (JobError, TimeoutError) as error:
                _log.warning("bulk_interrupted", error_message=str(error))
                busy = False
            if not busy:
                await self._wait()

    async def _wait(self) -> None:
        try:
            async with asyncio.timeout(_LOOK_EVERY):
                await self._asked.wait()
        except TimeoutError:
            pass
        self._asked.clear()

    async def _carry_out_one(self) -> bool:
        """Whether there was one."""
        async with self.database.operator(_SERVER) as operator:
            params: dict[str, object] = {"owner": self.owner, "lease_seconds": self.lease_seconds}
            rows = await operator.link.run(query("bulk/take"), params, timeout=_CALL_SECONDS)
            taken = maybe(rows, _Taken)
            if taken is None:
                return False
            try:
                await self._carry_out(operator, taken)
            except asyncio.CancelledError:
                await self._leave(taken)
                raise
        return True

    async def _carry_out(self, operator: Operator, taken: _Taken) -> None:
        params = msgspec.structs.asdict(taken) | {"page": self.page, "lease_seconds": self.lease_seconds}
        while True:
            done = maybe(await operator.link.run(query("bulk/page"), params, timeout=_CALL_SECONDS), _Page)
            if done is None:  # stopped, or another's by now
                return
            if done.page_touched:
                await operator.wake_workers()
            if done.act_status != "RUNNING":
                _log.info("bulk_done", count=done.act_touched)
                return
            if not done.page_touched:  # what is left, somebody holds
                await asyncio.sleep(_HELD_PAUSE)

    async def _leave(self, taken: _Taken) -> None:
        """On a connection of its own: the page that was under way is rolled back, or was written."""
        try:
            async with asyncio.timeout(_CALL_SECONDS), self.database.operator(_SERVER) as operator:
                params = msgspec.structs.asdict(taken)
                await operator.link.run(query("bulk/leave"), params, timeout=_CALL_SECONDS)
        except (JobError, TimeoutError):
            pass  # its lease ends by itself
