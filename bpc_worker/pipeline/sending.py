"""Send a document in and wait until its facts are there, or say why they are not."""

from collections.abc import Callable

from bpc_worker.domain.states import DocumentStatus
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.pipeline.documents import DocumentDetail, Upload, add_document, wait_for_document
from bpc_worker.pipeline.jobs import how_it_stands
from bpc_worker.pipeline.session import PipelineSession
from bpc_worker.postgres.queue.job_states import JobState

_MOST_LISTED = 20


async def send(
    pipeline: PipelineSession,
    upload: Upload,
    *,
    seconds: float,
    looked: Callable[[JobState], None] | None = None,
) -> DocumentDetail:
    """The version, VALIDATED; the same bytes, declared alike, are the version that is there."""
    job_id = await add_document(pipeline, upload)
    waited = await wait_for_document(pipeline, job_id, upload, seconds=seconds, looked=looked)
    found = waited.document
    if found is not None and found.status == DocumentStatus.VALIDATED:
        return found
    if found is not None and found.status == DocumentStatus.REJECTED:
        listed = [f"{each.where}: {each.message}".removeprefix(": ") for each in found.errors[:_MOST_LISTED]]
        more = len(found.errors) - len(listed)
        said = "; ".join(listed) + (f"; and {more} more" if more > 0 else "")
        raise Permanent(Code.VALIDATION_ERROR, f"{upload.external_ref} is REJECTED: {said}")
    raise Permanent(Code.VALIDATION_ERROR, "; ".join(how_it_stands(waited.job)))
