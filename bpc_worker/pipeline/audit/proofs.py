"""Proofs over the tree of events: an event is in a checkpoint, and a later one still has all of it."""

from datetime import datetime
from uuid import UUID

from bpc_worker.core.audit.checkpoint import Tree
from bpc_worker.core.audit.event_hash import Event
from bpc_worker.core.audit.event_proof import Consistency, Inclusion, Signed
from bpc_worker.core.base.merkle_stream import RangeHashes, consistency_ranges, inclusion_ranges
from bpc_worker.domain.event_chain import OfChain
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.pipeline.audit import leaves
from bpc_worker.pipeline.audit.checkpoints import Kept, check_ours
from bpc_worker.pipeline.session import PipelineSession
from bpc_worker.rows import one


class _Found(OfChain, frozen=True):
    event_type: str
    occurred_at: datetime
    actor_id: str
    payload_hash: bytes
    prev_event_hash: bytes | None
    leaf_index: int | None

    def event(self, tenant_id: UUID) -> Event:
        return Event(
            tenant_id=tenant_id,
            aggregate_type=self.aggregate_type,
            aggregate_id=self.aggregate_id,
            aggregate_version=self.aggregate_version,
            event_type=self.event_type,
            occurred_at=self.occurred_at,
            actor_id=self.actor_id,
            payload_hash=self.payload_hash,
        )


async def prove_inclusion(pipeline: PipelineSession, event_id: UUID, checkpoint: Kept) -> Inclusion:
    """The event is a leaf of the tree that the checkpoint signs."""
    signed = _signed(checkpoint)
    size = signed.statement.tree.size
    async with pipeline.reading() as tx:
        await check_ours(pipeline, tx, checkpoint)
        wanted = {"tenant_id": pipeline.tenant_id, "event_id": event_id}
        found = one(await tx.query("events/find_leaf", wanted), _Found, "event of the tenant")
        if found.leaf_index is None or found.leaf_index >= size:
            hint = "prove it against a later one, made with `bpc-worker audit checkpoint`"
            raise Permanent(Code.VALIDATION_ERROR, f"the event came after the checkpoint; {hint}")
        ranges = RangeHashes(inclusion_ranges(found.leaf_index, size))
        _check_tree(signed, await leaves.read_tree(tx, pipeline.tenant_id, size, ranges))
    return Inclusion(
        checkpoint=signed,
        event=found.event(pipeline.tenant_id),
        prev_event_hash=found.prev_event_hash,
        leaf_index=found.leaf_index,
        path=ranges.hashes(),
    )


async def prove_consistency(pipeline: PipelineSession, old: Kept, new: Kept) -> Consistency:
    """The tree of the new checkpoint begins with all leaves of the old one's."""
    before, after = _signed(old), _signed(new)
    sizes = before.statement.tree.size, after.statement.tree.size
    if not 0 < sizes[0] <= sizes[1]:
        hint = "name the older one first; of a tree without leaves there is nothing to prove"
        raise Permanent(Code.VALIDATION_ERROR, f"the trees have {sizes[0]} and {sizes[1]} leaves: {hint}")
    async with pipeline.reading() as tx:
        for each in (old, new):
            await check_ours(pipeline, tx, each)
        ranges = RangeHashes(consistency_ranges(*sizes))
        _check_tree(after, await leaves.read_tree(tx, pipeline.tenant_id, sizes[1], ranges))
    return Consistency(old=before, new=after, path=ranges.hashes())


def _signed(kept: Kept) -> Signed:
    return Signed(statement=kept.statement, signature=kept.signature)


def _check_tree(signed: Signed, found: Tree) -> None:
    """A proof that leads elsewhere would be refused by whoever gets it."""
    if found != signed.statement.tree:
        message = (
            "the tree in the database is not that of the checkpoint: events or their order were changed since"
        )
        hint = "`bpc-worker audit verify --against` names the place"
        raise Permanent(Code.VALIDATION_ERROR, f"{message}; {hint}")
