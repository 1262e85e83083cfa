"""Documents that were sent before, as a build names them: by the id of a version, its sha256, or a name."""

import msgspec

from bpc_worker.handler_api import Tx
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.pipeline.builds.folder import Document, Folder, Manifest
from bpc_worker.pipeline.builds.recipe import OF_MANY, DocumentEntry, SentEntry, named_twice
from bpc_worker.pipeline.documents import sent_before
from bpc_worker.pipeline.session import PipelineSession


async def with_sent(pipeline: PipelineSession, manifest: Manifest) -> Folder:
    """All documents with their declarations and hashes; their bytes stay where they are."""
    async with pipeline.reading() as tx:
        found = [
            await _sent(pipeline, tx, each) if isinstance(each, SentEntry) else each
            for each in manifest.documents
        ]
    if twice := named_twice([each.entry.file for each in found]):
        hint = "give each a name of its own with `file`"
        raise Permanent(Code.VALIDATION_ERROR, f"/documents: {', '.join(twice)} is listed twice; {hint}")
    return Folder(manifest.recipe, tuple(found))


async def _sent(pipeline: PipelineSession, tx: Tx, entry: SentEntry) -> Document:
    found = await sent_before(pipeline, tx, entry.document)
    if found is None:
        raise Permanent(Code.NOT_FOUND, "there is no such document")
    mapping = entry.mapping
    if mapping is None and found.mapping is not None:
        mapping = msgspec.json.decode(found.mapping, type=dict[str, object])
    declared = DocumentEntry(
        file=entry.file or found.external_ref,
        kind=entry.kind or found.kind,
        mime_type=entry.mime_type or found.mime_type,
        number_format=entry.number_format or found.number_format,
        mapping=mapping,
    )
    if declared.kind == OF_MANY:
        message = f"{declared.file} is about many batteries ({declared.kind}); a build is about one"
        raise Permanent(Code.VALIDATION_ERROR, message)
    return Document(declared, None, found.sha256)
