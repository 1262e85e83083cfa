"""Suspects in PostgreSQL: the watch over them, and the claim of one."""

from datetime import datetime
from uuid import UUID

from bpc_worker.ids import nonce
from bpc_worker.jobs.errors import JobError, Unavailable
from bpc_worker.jobs.model import Claim
from bpc_worker.jobs.queue_settings import QueueSettings
from bpc_worker.jobs.store import Caps, Look
from bpc_worker.observability import log
from bpc_worker.postgres.arrays import arrays
from bpc_worker.postgres.connection import Link
from bpc_worker.postgres.queue.claims import Claims
from bpc_worker.postgres.sql_files import query

_log = log.get("claims")


class Suspects:
    def __init__(self, link: Link, claims: Claims, settings: QueueSettings) -> None:
        self._link = link
        self._claims = claims
        self._settings = settings
        self._passed_over: list[UUID] = []  # by this process, which does not live long

    async def watch(self, watcher: str, *, now: datetime | None) -> bool:
        names = {"queues": list(self._settings.queues), "types": list(self._settings.types)}
        return await self._hold("watch_suspects", watcher, now=now, **names)

    async def keep(self, watcher: str, *, give_up: bool, now: datetime | None) -> bool:
        seconds = 0 if give_up else self._settings.lease_seconds
        return await self._hold("keep_suspects", watcher, now=now, seconds=seconds)

    async def _hold(self, name: str, watcher: str, **more: object) -> bool:
        params = {"watcher": watcher, "seconds": self._settings.lease_seconds, **more}
        return bool(await self._link.run(query(f"jobs/{name}"), params, timeout=self._settings.call_timeout))

    async def claim(self, watcher: str, *, caps: Caps, careful: bool, now: datetime | None) -> Look:
        """`careful`: if it is refused, nobody here asks for that row again for a while."""
        head, _ = await self._ask(watcher, caps, taking=False, now=now) if careful else (None, None)
        try:
            _, claim = await self._ask(watcher, caps, taking=True, now=now)
        except JobError as error:
            if head is None or isinstance(error, Unavailable):
                raise
            self._passed_over.append(head)
            _log.error(
                "job_passed_over", job_id=str(head), error_code=error.code, error_message=error.message
            )
            return Look(more=True, passed_over=1)
        return Look(claims=[] if claim is None else [claim])

    async def _ask(
        self, watcher: str, caps: Caps, *, taking: bool, now: datetime | None
    ) -> tuple[UUID | None, Claim | None]:
        """Whose turn it is, and that one, taken."""
        full = {name for names, most in caps.items() for name in names if most <= 0}
        types = [name for name in self._settings.types if name not in full]
        params = {
            "now": now,
            "nonce": nonce(),
            "watcher": watcher,
            "taking": taking,
            "owner": self._settings.owner,
            "lease_seconds": self._settings.lease_seconds,
            **arrays({"queues": self._settings.queues, "types": types, "passed_over": self._passed_over}),
        }
        rows = await self._claims.answered("jobs/claim_suspect", params)
        if not rows:
            return None, None
        [(head, *claimed)] = rows
        return head, None if claimed[0] is None else Claim(*claimed)
