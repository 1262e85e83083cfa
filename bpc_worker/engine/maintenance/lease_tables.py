"""What the reaper does, for further tables that have the lease columns."""

from collections.abc import Callable, Sequence
from typing import Protocol

from bpc_worker.engine.clock import Clock, seconds_since_boot
from bpc_worker.engine.outage_log import is_away
from bpc_worker.jobs.errors import JobError
from bpc_worker.jobs.store import Left
from bpc_worker.observability import log

_log = log.get("reaper")
_PASS_SECONDS = 0.2
_ACTIONS = {"QUEUED": "requeued", "DEAD_LETTER": "dead_lettered"}


class Table(Protocol):
    @property
    def name(self) -> str: ...

    async def reap(self, *, ended_for: float = 0.0) -> list[Left]: ...


class TableMetrics(Protocol):
    def table_reaped(self, table: str, *, action: str) -> None: ...


class TableReaper:
    def __init__(
        self,
        tables: Sequence[Table],
        metrics: TableMetrics,
        *,
        spared_seconds: Callable[[], float],  # as of our own jobs
        clock: Clock = seconds_since_boot,
    ) -> None:
        self._tables = tables
        self._metrics = metrics
        self._spared_seconds = spared_seconds
        self._clock = clock

    async def sweep(self) -> None:
        """One table that cannot be reaped does not keep the others from it."""
        for table in self._tables:
            try:
                await self._pages(table)
            except JobError as error:
                if is_away(error):
                    raise
                _log.warning("table_not_reaped", key=table.name, error_message=error.message)

    async def _pages(self, table: Table) -> None:
        ends_at = self._clock() + _PASS_SECONDS
        while page := await table.reap(ended_for=self._spared_seconds()):
            for row in page:
                self._metrics.table_reaped(table.name, action=_ACTIONS.get(row.status, "other"))
            _log.warning("leases_reaped", key=table.name, count=len(page))
            if self._clock() >= ends_at:
                break
