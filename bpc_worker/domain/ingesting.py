"""The job that ingests a document, whose bytes are a blob of the tenant's; folders it may come from."""

from collections.abc import Mapping
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


def mapping_text(mapping: Mapping[str, object] | None) -> str | None:
    """The one form in which a mapping is kept and compared."""
    return None if mapping is None else msgspec.json.encode(mapping, order="deterministic").decode()


def ingest_payload(declared: Declared, external_ref: str, digest: bytes) -> dict[str, object]:
    return {
        "kind": declared.kind,
        "mime_type": declared.mime_type,
        "external_ref": external_ref,
        "number_format": declared.number_format,
        "mapping": declared.mapping,
        "content_sha256": digest.hex(),
    }
