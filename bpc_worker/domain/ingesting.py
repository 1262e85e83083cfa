"""The job that ingests a document, whose bytes are a blob of the tenant's."""

from bpc_worker.documents.model import Declared
from bpc_worker.domain.builds import STEPS
from bpc_worker.domain.states import BuildStatus

JOB_TYPE = STEPS[BuildStatus.DOCUMENTS].job_type


def ingest_payload(declared: Declared, external_ref: str, digest: bytes) -> dict[str, object]:
    return {
        "kind": declared.kind,
        "mime_type": declared.mime_type,
        "external_ref": external_ref,
        "number_format": declared.number_format,
        "content_sha256": digest.hex(),
    }
