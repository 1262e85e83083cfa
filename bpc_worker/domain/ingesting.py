"""The job that ingests a document: by the path where a worker may read it, else with its content."""

from base64 import b64encode
from collections.abc import Iterable, Mapping
from pathlib import Path
from uuid import UUID

import msgspec

from bpc_worker.documents.model import Declared
from bpc_worker.domain.builds import STEPS
from bpc_worker.domain.states import BuildStatus
from bpc_worker.handler_api import Policy

JOB_TYPE = STEPS[BuildStatus.DOCUMENTS].job_type


class Owner(msgspec.Struct, frozen=True):
    """Whose documents they are, and whether there is no other tenant."""

    tenant_id: UUID
    name: str
    alone: bool


def folders_of(policy: Policy, owner: Owner) -> tuple[Path, ...]:
    """From where a worker reads documents of that tenant; folders that name nobody serve only one tenant."""
    named = (
        *policy.ingest_folders_of.get(owner.name, ()),
        *policy.ingest_folders_of.get(str(owner.tenant_id), ()),
    )
    return (*named, *policy.ingest_folders) if owner.alone else named


def workers_read(path: Path, folders: Iterable[Path]) -> bool:
    """Whether it lies in one of the tenant's folders, wherever links lead: a worker looks at that, too."""
    real = path.resolve()
    return any(real.is_relative_to(folder.resolve()) for folder in folders)


def where_to_read(content: bytes, path: Path | None, folders: Iterable[Path]) -> dict[str, object]:
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
