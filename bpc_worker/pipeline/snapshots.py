"""Snapshots: the facts of chosen document versions, kept together and sealed under one hash."""

from collections.abc import Sequence
from uuid import UUID

import msgspec

from bpc_worker.documents.model import OF_ITEMS
from bpc_worker.domain import records
from bpc_worker.domain.states import DocumentStatus, PassportStatus, SnapshotStatus
from bpc_worker.handler_api import Tx
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.jobs.model import JobId, NewJob
from bpc_worker.pipeline.documents import Document, find_document
from bpc_worker.pipeline.passports import find_passport
from bpc_worker.pipeline.session import PipelineSession
from bpc_worker.postgres.again import again
from bpc_worker.rows import all_of, maybe, value


class Snapshot(records.Snapshot, frozen=True):
    facts: int


class SourceRef(msgspec.Struct, frozen=True):
    document_version_id: UUID
    kind: str
    external_ref: str
    sha256: bytes
    facts: int


class VersionRef(msgspec.Struct, frozen=True):
    passport_version_id: UUID
    status: PassportStatus


class SnapshotDetail(Snapshot, frozen=True):
    """A snapshot with what it was made from, and what was made from it."""

    documents: list[SourceRef]
    passport_versions: list[VersionRef]


class _Contradiction(msgspec.Struct, frozen=True):
    fact_type: str
    fact_key: str
    documents: list[str]


@again
async def create_snapshot(pipeline: PipelineSession, documents: Sequence[str]) -> Snapshot:
    """BUILDING, with the facts of these documents; nothing is made when they cannot stand together."""
    async with pipeline.transaction() as tx:
        return await _snapshot(pipeline, tx, await new_snapshot(pipeline, tx, documents))


async def new_snapshot(pipeline: PipelineSession, tx: Tx, documents: Sequence[str]) -> UUID:
    # First: from here on retention waits for us.
    made = value(await tx.query("builds/make_snapshot", {"tenant_id": pipeline.tenant_id}), UUID)
    found = [await find_document(pipeline, tx, wanted) for wanted in documents]
    _check_validated(found)
    params = {
        "tenant_id": pipeline.tenant_id,
        "snapshot_id": made,
        "document_version_ids": [document.document_version_id for document in found],
    }
    if not await tx.query("snapshots/fill", params):
        raise Permanent(Code.VALIDATION_ERROR, "there are no facts in these documents; name others")
    _check_agreement(all_of(await tx.query("snapshots/contradictions", params), _Contradiction))
    return made


def _check_validated(documents: Sequence[Document]) -> None:
    wrong = [
        f"{document.external_ref} is {document.status}"
        for document in documents
        if document.status != DocumentStatus.VALIDATED
    ]
    several = [each.external_ref for each in documents if each.kind in OF_ITEMS]
    if several:
        hint = "`bpc-worker serials import` and `measurements import` take them"
        raise Permanent(Code.VALIDATION_ERROR, f"{', '.join(several)}: it is about many batteries; {hint}")
    if wrong:
        hint = "`bpc-worker document show` says why; a snapshot takes VALIDATED documents only"
        raise Permanent(Code.VALIDATION_ERROR, f"{', '.join(wrong)}; {hint}")


def _check_agreement(contradictions: Sequence[_Contradiction]) -> None:
    if contradictions:
        said = "; ".join(
            f"{each.fact_type} {each.fact_key} in {', '.join(each.documents)}" for each in contradictions
        )
        hint = "leave one of the documents out, or have it corrected"
        raise Permanent(Code.VALIDATION_ERROR, f"the documents contradict each other: {said}; {hint}")


@again
async def seal_snapshot(
    pipeline: PipelineSession, snapshot_id: UUID, passport: str | None = None
) -> JobId | None:
    """Queue the sealing, with what is known of a passport's battery; None when it is sealed already."""
    async with pipeline.transaction() as tx:
        if (await _snapshot(pipeline, tx, snapshot_id)).status == SnapshotStatus.SEALED:
            return None
        payload: dict[str, object] = {"snapshot_id": str(snapshot_id), "seal": True}
        if passport is not None:
            payload["passport_id"] = str((await find_passport(pipeline, tx, passport)).passport_id)
        return await tx.enqueue(NewJob(type="BUILD_SNAPSHOT", payload=payload))


async def _snapshot(pipeline: PipelineSession, tx: Tx, snapshot_id: UUID) -> Snapshot:
    params = {"tenant_id": pipeline.tenant_id, "snapshot_id": snapshot_id}
    found = maybe(await tx.query("snapshots/find", params), Snapshot)
    if found is None:
        hint = "`bpc-worker snapshot list` shows them"
        raise Permanent(Code.NOT_FOUND, f"no snapshot {snapshot_id}; {hint}")
    return found


async def snapshot_detail(pipeline: PipelineSession, snapshot_id: UUID) -> SnapshotDetail:
    params = {"tenant_id": pipeline.tenant_id, "snapshot_id": snapshot_id}
    async with pipeline.reading() as tx:
        return SnapshotDetail(
            **msgspec.structs.asdict(await _snapshot(pipeline, tx, snapshot_id)),
            documents=all_of(await tx.query("snapshots/documents", params), SourceRef),
            passport_versions=all_of(await tx.query("snapshots/passport_versions", params), VersionRef),
        )


async def list_snapshots(
    pipeline: PipelineSession, *, status: str | None = None, limit: int = 1000
) -> list[Snapshot]:
    """Newest first."""
    return await pipeline.rows("snapshots/list", Snapshot, status=status, limit=limit)
