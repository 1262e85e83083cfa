"""Models: the facts that all batteries of a product share, sealed once."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from bpc_worker.core.passport.snapshot import FactRef
from bpc_worker.domain import identity, items
from bpc_worker.handler_api import Tx
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.jobs.model import JobId, NewJob
from bpc_worker.pipeline.documents import find_document
from bpc_worker.pipeline.products import find_product
from bpc_worker.pipeline.session import PipelineSession
from bpc_worker.pipeline.snapshots import new_snapshot
from bpc_worker.postgres.again import again
from bpc_worker.rows import all_of


class Model(msgspec.Struct, frozen=True):
    product: str
    snapshot_id: UUID
    snapshot_hash: bytes
    created_at: datetime
    facts: int
    items: int  # batteries that have a snapshot beside it


class ModelJob(msgspec.Struct, frozen=True):
    snapshot_id: UUID
    job_id: JobId | None  # None: the product's model is just this already


@again
async def seal_model(pipeline: PipelineSession, product: str, documents: Sequence[str]) -> ModelJob:
    """Queue the sealing of a product's model from the facts of these documents."""
    async with pipeline.transaction() as tx:
        of = (await find_product(pipeline, tx, product)).battery_product_id
        made = await _unchanged(pipeline, tx, of, documents)
        if made is not None:
            return ModelJob(made, None)
        snapshot_id = await new_snapshot(pipeline, tx, documents)
        payload = {"snapshot_id": str(snapshot_id), "seal": True, "battery_product_id": str(of)}
        return ModelJob(snapshot_id, await tx.enqueue(NewJob(type="BUILD_SNAPSHOT", payload=payload)))


async def _unchanged(
    pipeline: PipelineSession, tx: Tx, battery_product_id: UUID, documents: Sequence[str]
) -> UUID | None:
    """The model that is there, where these documents and what is known of the product make no other."""
    there = await items.read_model(tx, pipeline.tenant_id, battery_product_id)
    if there is None:
        return None
    found = [await find_document(pipeline, tx, wanted) for wanted in documents]
    params = {
        "tenant_id": pipeline.tenant_id,
        "document_version_ids": [each.document_version_id for each in found],
    }
    told = set(all_of(await tx.query("facts/of_documents", params), FactRef))
    about = await identity.facts_about_model(tx, pipeline.tenant_id, battery_product_id)
    return there.snapshot_id if told | set(map(identity.reference, about)) == set(there.facts) else None


async def models(pipeline: PipelineSession, limit: int) -> list[Model]:
    """Newest first; the first of a product is the one that counts."""
    return await pipeline.rows("models/list", Model, limit=limit)


async def need_model(pipeline: PipelineSession, tx: Tx, battery_product_id: UUID, product: str) -> UUID:
    there = await items.read_model(tx, pipeline.tenant_id, battery_product_id)
    if there is None:
        hint = f"seal it with `bpc-worker model seal {product} --document …`, or give its file with --model"
        raise Permanent(Code.NOT_FOUND, f"{product} has no model: its batteries would say little; {hint}")
    return there.snapshot_id
