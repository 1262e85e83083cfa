"""The bytes of documents as they came: what attachments are kept for."""

from bpc_worker.pipeline.documents import Document, find_document
from bpc_worker.pipeline.session import PipelineSession
from bpc_worker.rows import value


async def content_of(pipeline: PipelineSession, wanted: str) -> tuple[Document, bytes]:
    """A version of a document, and its bytes."""
    async with pipeline.reading() as tx:
        found = await find_document(pipeline, tx, wanted)
        params = {"tenant_id": pipeline.tenant_id, "sha256": found.sha256, "first": 1, "count": found.bytes}
        return found, value(await tx.query("blobs/part", params), bytes)
