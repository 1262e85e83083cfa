"""The tree over the events of a tenant: which are leaves, their order, and whether they are still those."""

from collections.abc import AsyncIterator, Iterator
from itertools import islice
from uuid import UUID

import msgspec

from bpc_worker.core.audit.checkpoint import Tree
from bpc_worker.core.base.forms import HASH_SIZE
from bpc_worker.core.base.merkle import leaf_hash
from bpc_worker.core.base.merkle_stream import RangeHashes, TreeHash
from bpc_worker.handler_api import Tx
from bpc_worker.pipeline.audit.findings import LeafFinding, LeafFlaw
from bpc_worker.pipeline.session import PipelineSession
from bpc_worker.rows import all_of, value

_NUMBERED_AT_ONCE = 100_000
_BLOCK = 10_000


class Counted(msgspec.Struct, frozen=True):
    leaves: int
    size: int
    missing: int | None


class _Block(msgspec.Struct, frozen=True):
    hashes: bytes
    strange: int | None

    def leaves(self) -> Iterator[bytes]:
        for at in range(0, len(self.hashes), HASH_SIZE):
            yield leaf_hash(self.hashes[at : at + HASH_SIZE])


async def number_events(pipeline: PipelineSession) -> None:
    """Every event that is committed now becomes a leaf, if it is none yet."""
    numbered = _NUMBERED_AT_ONCE
    while numbered == _NUMBERED_AT_ONCE:
        async with pipeline.transaction() as tx:
            numbered = value(await tx.query("events/number", {"page": _NUMBERED_AT_ONCE}), int)


async def count(tx: Tx, tenant_id: UUID) -> Counted:
    [found] = all_of(await tx.query("events/leaf_count", {"tenant_id": tenant_id}), Counted)
    return found


async def read_tree(tx: Tx, tenant_id: UUID, size: int, ranges: RangeHashes | None = None) -> Tree:
    """The tree of the first leaves, which are there; `ranges` sees them too."""
    tree = TreeHash()
    async for block in _blocks(tx, tenant_id, size):
        for leaf in block.leaves():
            tree.add(leaf)
            if ranges is not None:
                ranges.add(leaf)
    return Tree(size=tree.size, root=tree.root)


async def look_at_leaves(
    tx: Tx, tenant_id: UUID, counted: Counted, *, expected: int, signed: Tree | None
) -> list[LeafFinding]:
    """What is wrong with them: `expected` is how many the chains have, `signed` the tree of a checkpoint."""
    size = max(expected, counted.size, signed.size if signed is not None else 0)
    if counted.leaves < size:
        missing = counted.size if counted.missing is None else counted.missing
        return [
            LeafFinding(missing, LeafFlaw.NO_LEAF, f"{size} leaves", f"{counted.leaves}, and not this one")
        ]
    if counted.leaves > expected:
        said = f"{expected} leaves, as many as the chains have"
        return [LeafFinding(expected, LeafFlaw.STRAY_LEAF, said, f"{counted.leaves}")]
    tree = TreeHash()
    async for block in _blocks(tx, tenant_id, size):
        if block.strange is not None:
            return [
                LeafFinding(
                    block.strange, LeafFlaw.OTHER_EVENT, "the event with this hash", "another, or none"
                )
            ]
        if signed is not None:
            for leaf in islice(block.leaves(), signed.size - tree.size):
                tree.add(leaf)
    if signed is not None and tree.root != signed.root:
        said = f"root {signed.root.hex()} of {signed.size} leaves as in the checkpoint"
        return [LeafFinding(signed.size - 1, LeafFlaw.OTHER_ROOT, said, tree.root.hex())]
    return []


async def _blocks(tx: Tx, tenant_id: UUID, size: int) -> AsyncIterator[_Block]:
    for first in range(0, size, _BLOCK):
        params = {"tenant_id": tenant_id, "first": first, "last": min(first + _BLOCK, size)}
        [block] = all_of(await tx.query("events/leaf_block", params), _Block)
        yield block
