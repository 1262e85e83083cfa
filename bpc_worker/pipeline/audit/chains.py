"""Is every chain what was written? Events, heads, leaves and a checkpoint, side by side in one order."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from uuid import UUID

from bpc_worker.core.audit.checkpoint import ChainHead, ChainKey
from bpc_worker.core.audit.checkpoint_compare import since
from bpc_worker.core.audit.event_hash import BrokenChain, ChainCheck, Head
from bpc_worker.domain.event_chain import EventRow, OfChain, flaw
from bpc_worker.handler_api import Tx
from bpc_worker.pipeline.audit.findings import Finding, Missing, finding
from bpc_worker.pipeline.audit.streams import Stream, rows_of


class HeadRow(OfChain, frozen=True):
    """Where a chain ends, or how far it has leaves."""

    def as_mark(self) -> ChainHead:
        return ChainHead(
            aggregate_type=self.aggregate_type,
            aggregate_id=self.aggregate_id,
            aggregate_version=self.aggregate_version,
            event_hash=self.event_hash,
        )


@dataclass(slots=True)
class _Seen:
    """What the events of one chain showed."""

    marks: dict[str, ChainHead]  # where it ended before, and where that is written
    check: ChainCheck = field(default_factory=ChainCheck)
    last: int = 0
    at_mark: dict[int, bytes] = field(default_factory=dict)
    broken: BrokenChain | None = None

    def add(self, row: EventRow, tenant_id: UUID) -> None:
        self.last = max(self.last, row.aggregate_version)
        for mark in self.marks.values():
            if row.aggregate_version == mark.aggregate_version:
                self.at_mark[row.aggregate_version] = row.event_hash
        if self.broken is None:
            self.broken = flaw(self.check, row, tenant_id)


class Walk:
    """All chains of a tenant that anything tells of, in order."""

    def __init__(self, tenant_id: UUID, tx: Tx, marks: AsyncIterator[ChainHead]) -> None:
        self._tenant_id = tenant_id
        self._rows = Stream(rows_of(tx, "events/in_order", tenant_id, EventRow))
        self._ends = Stream(rows_of(tx, "events/heads_in_order", tenant_id, HeadRow))
        self._leaves = Stream(rows_of(tx, "events/leaf_heads_in_order", tenant_id, HeadRow))
        self._marks = Stream(marks)
        self.chains = 0
        self.events = 0
        self.leaves = 0  # that there must be

    async def next_chain(self) -> ChainKey | None:
        streams = (self._rows, self._ends, self._leaves, self._marks)
        ahead = [await stream.key() for stream in streams]
        return min((key for key in ahead if key is not None), default=None)

    async def chain(self, key: ChainKey) -> list[Finding]:
        """What is wrong with it."""
        end = await self._ends.take(key)
        seen = _Seen(await self._marks_of(key))
        while (row := await self._rows.take(key)) is not None:
            self.events += 1
            seen.add(row, self._tenant_id)
        self.chains += seen.last > 0
        return [*_of_the_end(key, seen, end), *_since_then(seen)]

    async def _marks_of(self, key: ChainKey) -> dict[str, ChainHead]:
        mark, leaves = await self._marks.take(key), await self._leaves.take(key)
        found = {} if mark is None else {"the checkpoint": mark}
        if leaves is not None:
            self.leaves += leaves.aggregate_version
            found["the tree"] = leaves.as_mark()
        return found


def _of_the_end(key: ChainKey, seen: _Seen, end: HeadRow | None) -> Iterator[Finding]:
    broken = seen.broken
    if broken is None and seen.last and end is None:
        yield finding(key, seen.last, Missing.NO_HEAD, "a head", "none")
    elif end is not None and not seen.last:
        said = f"events up to version {end.aggregate_version}"
        yield finding(key, end.aggregate_version, Missing.NO_CHAIN, said, "none")
    elif broken is None and end is not None:
        broken = seen.check.end(Head(end.aggregate_version, end.event_hash))
    if broken is not None:
        yield finding(key, broken.position, broken.flaw, broken.expected, broken.found)


def _since_then(seen: _Seen) -> Iterator[Finding]:
    """It may only have grown since a checkpoint and since it became leaves; told once."""
    for where, mark in seen.marks.items():
        at_mark = seen.at_mark.get(mark.aggregate_version)
        if difference := since(mark, seen.last, at_mark, where=where):
            change = difference.change
            yield finding(mark.key, difference.version, change, difference.expected, difference.found)
            return
