"""The job that ingests a document, whose bytes are a blob of the tenant's; folders it may come from."""

from collections.abc import Mapping
from pathlib import Path
from uuid import UUID

import msgspec

from bpc_worker.documents.model import Declared
from bpc_worker.domain.builds import STEPS
from bpc_worker.domain.records import DocumentVersion
from bpc_worker.domain.states import BuildStatus
from bpc_worker.handler_api import Policy, Tx
from bpc_worker.rows import one

JOB_TYPE = STEPS[BuildStatus.DOCUMENTS].job_type


class Owner(msgspec.Struct, frozen=True):
    """Whose documents they are, and whether there is no other tenant."""

    tenant_id: UUID
    name: str
    alone: bool


class KnownVersion(DocumentVersion, frozen=True):
    errors: list[object] | None


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


def version_key(tenant_id: UUID, declared: Declared, digest: bytes) -> dict[str, object]:
    """Bytes and what is said about them: the same again are the same version."""
    return {
        "tenant_id": tenant_id,
        "sha256": digest,
        "kind": declared.kind,
        "mime_type": declared.mime_type,
        "number_format": declared.number_format,
        "mapping": mapping_text(declared.mapping),
    }


async def version_of(
    tx: Tx, key: Mapping[str, object], external_ref: str, new: bytes | None = None
) -> KnownVersion:
    """Whoever was first to bring it. `new`: the bytes, where they are no blob yet."""
    rows = await tx.query("documents/known", key)
    if not rows:
        document = {**key, "external_ref": external_ref}
        if new is not None:
            tx.send("blobs/put", {"content": new})
        await tx.query("documents/add", document)
        await tx.query("documents/add_version", document)
        rows = await tx.query("documents/known", key)
    return one(rows, KnownVersion, "document version")
