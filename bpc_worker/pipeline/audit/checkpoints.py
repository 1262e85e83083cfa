"""Checkpoints of the audit trail: made and signed here, kept elsewhere, and read again."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import BinaryIO

from bpc_worker import wiring
from bpc_worker.core.audit.checkpoint import (
    ChainHead,
    CheckpointError,
    CheckpointWriter,
    Statement,
    Taken,
    Tree,
)
from bpc_worker.core.audit.checkpoint_reader import CheckpointReader
from bpc_worker.core.base import signing
from bpc_worker.core.base.messages import Kind
from bpc_worker.domain.signing import sign_document
from bpc_worker.files.writing import pieces
from bpc_worker.handler_api import Signer, Tx
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.pipeline.audit import leaves
from bpc_worker.pipeline.audit.chains import HeadRow
from bpc_worker.pipeline.audit.streams import rows_of
from bpc_worker.pipeline.keys import registry as registry_of
from bpc_worker.pipeline.session import PipelineSession
from bpc_worker.rows import value


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A checkpoint that was kept; nothing in it counts before its signature was verified."""

    file: BinaryIO
    heads: int  # in its list
    listed: bool
    statement: Statement
    signature: bytes

    @property
    def taken(self) -> Taken:
        return self.statement.taken


async def write_checkpoint(pipeline: PipelineSession, file: BinaryIO) -> Kept:
    """The tree over everything committed before, and where each chain ends in it, signed."""
    signer = wiring.keyring(pipeline.settings).signer
    await leaves.number_events(pipeline)
    async with pipeline.reading() as tx:
        registry = await registry_of(pipeline, tx)
        now = value(await tx.execute("SELECT now()"), datetime)
        taken = Taken(tenant_id=pipeline.tenant_id, taken_at=now, signing_key_id=signer.key_id)
        writer = CheckpointWriter(taken)
        file.write(writer.beginning())
        events = 0
        async for end in rows_of(tx, "events/leaf_heads_in_order", pipeline.tenant_id, HeadRow):
            file.write(writer.head(end.as_mark()))
            events += end.aggregate_version
        tree = await _tree(pipeline, tx, events)
    statement = writer.statement(tree)
    signature = await _signed(signer, registry, statement)
    file.write(writer.ending(tree, signature))
    return Kept(file=file, heads=writer.count, listed=True, statement=statement, signature=signature)


def read_checkpoint(file: BinaryIO) -> Kept:
    """Whose it is and who is said to have signed it."""
    reader = CheckpointReader(pieces(file))
    count = sum(1 for _ in _well_formed(reader))
    return Kept(
        file=file,
        heads=count,
        listed=reader.listed,
        statement=reader.statement,
        signature=reader.signature,
    )


def heads_of(kept: Kept) -> Iterator[ChainHead]:
    reader = CheckpointReader(pieces(kept.file))
    yield from _well_formed(reader)
    if reader.statement != kept.statement:
        raise Permanent(Code.VALIDATION_ERROR, "the checkpoint was changed while it was being read")


async def marks_of(kept: Kept | None) -> AsyncIterator[ChainHead]:
    """Its heads, one by one; without a checkpoint, none."""
    if kept is not None:
        for head in heads_of(kept):
            yield head


def check_signature(registry: signing.KeyRegistry, kept: Kept) -> None:
    try:
        key_id, document = kept.taken.signing_key_id, kept.statement.document()
        signing.verify(registry, key_id, Kind.CHECKPOINT, document, kept.signature)
    except signing.SignatureError as error:
        raise Permanent(Code.SIGNATURE_INVALID, f"the checkpoint: {error.message}") from error


async def check_ours(pipeline: PipelineSession, tx: Tx, kept: Kept) -> None:
    """It is of this tenant, and signed by a key of its registry."""
    if kept.taken.tenant_id != pipeline.tenant_id:
        message = f"the checkpoint is of tenant {kept.taken.tenant_id}, not of {pipeline.tenant_name!r}"
        raise Permanent(Code.VALIDATION_ERROR, message)
    check_signature(await registry_of(pipeline, tx), kept)


async def _tree(pipeline: PipelineSession, tx: Tx, events: int) -> Tree:
    """Of as many leaves as the chains have events; nothing is signed that is not whole."""
    counted = await leaves.count(tx, pipeline.tenant_id)
    if not counted.leaves == counted.size == events:
        message = (
            f"the trail is broken: its chains have {events} leaves, and there are {counted.leaves}, numbered "
            f"up to {counted.size - 1}; `bpc-worker audit verify` names the places"
        )
        raise Permanent(Code.VALIDATION_ERROR, message)
    return await leaves.read_tree(tx, pipeline.tenant_id, events)


async def _signed(signer: Signer, registry: signing.KeyRegistry, statement: Statement) -> bytes:
    try:
        document = statement.document()
        return await sign_document(signer, registry, Kind.CHECKPOINT, document, key_id=signer.key_id)
    except signing.SignatureError as error:
        if error.fault is signing.Fault.BAD_SIGNATURE:
            raise Permanent(Code.SIGNATURE_INVALID, error.message) from error
        hint = "add it with `bpc-worker keys add`, or configure one that is ACTIVE"
        raise Permanent(Code.SIGNING_KEY_MISSING, f"{error.message}; {hint}") from error


def _well_formed(reader: CheckpointReader) -> Iterator[ChainHead]:
    try:
        yield from reader
    except CheckpointError as error:
        raise Permanent(Code.VALIDATION_ERROR, f"the checkpoint: {error}") from error
