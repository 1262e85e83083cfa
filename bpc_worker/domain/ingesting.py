"""The job that ingests a document: by the path where a worker may read it, else with its content."""

from base64 import b64encode
from collections.abc import Iterable, Mapping
from pathlib import Path

from bpc_worker.documents.model import Declared
from bpc_worker.domain.builds import STEPS
from bpc_worker.domain.states import BuildStatus

JOB_TYPE = STEPS[BuildStatus.DOCUMENTS].job_type


def workers_read(path: Path, folders: Iterable[str]) -> bool:
    """Whether it lies in one of `ingest.folders`, wherever links lead: a worker looks at that, too."""
    real = path.resolve()
    return any(real.is_relative_to(Path(folder).resolve()) for folder in folders)


def where_to_read(content: bytes, path: Path | None, folders: Iterable[str]) -> dict[str, object]:
    if path is not None and workers_read(path, folders):
        return {"path": str(path.resolve())}
    return inside(content)


def inside(content: bytes) -> dict[str, object]:
    """It travels in the job."""
    return {"content_base64": b64encode(content).decode()}


def ingest_payload(declared: Declared, external_ref: str, where: Mapping[str, object]) -> dict[str, object]:
    return {
        "kind": declared.kind,
        "mime_type": declared.mime_type,
        "external_ref": external_ref,
        "number_format": declared.number_format,
        **where,
    }
