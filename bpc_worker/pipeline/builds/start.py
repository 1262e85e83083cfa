"""Passport builds: a folder of documents and a passport.yaml become a signed passport."""

from collections.abc import Sequence
from uuid import UUID

import msgspec

from bpc_worker.documents.model import Declared
from bpc_worker.domain import blobs, builds
from bpc_worker.domain.ingesting import JOB_TYPE, ingest_payload
from bpc_worker.domain.records import RulesVersion
from bpc_worker.domain.states import BuildStatus, DocumentStatus
from bpc_worker.handler_api import Tx
from bpc_worker.jobs.model import NewJob, Priority
from bpc_worker.pipeline.builds.folder import Document, Folder
from bpc_worker.pipeline.products import ensure_passport, ensure_product
from bpc_worker.pipeline.rules import published_rules
from bpc_worker.pipeline.session import PipelineSession
from bpc_worker.postgres.again import again as run_again
from bpc_worker.rows import maybe, one, value

_UNREAD = frozenset({None, DocumentStatus.UPLOADED})


class BuildState(msgspec.Struct, frozen=True):
    build_id: UUID
    passport_id: UUID
    unique_identifier: str
    state: BuildStatus
    snapshot_id: UUID | None
    passport_version_id: UUID | None
    errors: list[dict[str, object]] | None
    documents: list[dict[str, object]]

    @property
    def ended(self) -> bool:
        return self.state in builds.ENDED


@run_again
async def start_build(
    pipeline: PipelineSession, folder: Folder, *, again: bool = False, priority: Priority | None = None
) -> BuildState:
    """Make the build, or go on with one that was stopped; one that is done with the same inputs is done.

    With `again`, a new version is made from the same inputs. `priority`: of the jobs that take them up.
    """
    recipe = folder.recipe
    async with pipeline.transaction() as tx:
        battery = {"identifier": recipe.product.identifier, "serial": recipe.passport}
        await tx.query("builds/lock_battery", battery | {"tenant_id": pipeline.tenant_id})
        rules = await published_rules(pipeline, tx, recipe.rules)
        known = await _known(pipeline, tx, folder, rules)
        if known is None or again or known.is_past(folder):
            build_id = await _new(pipeline, tx, folder, rules)
            for document in folder.documents:
                await tx.enqueue(_ingest(tx, build_id, document, 1, priority))
        else:
            build_id = known.build_id
            await _go_on(pipeline, tx, known, folder, priority)
        return await _state(pipeline, tx, build_id)


class _KnownDocument(msgspec.Struct, frozen=True):
    file: str
    kind: str
    mime_type: str
    number_format: str | None
    mapping: str | None
    sha256: str
    status: DocumentStatus | None  # None: it is not there yet

    def is_as_in(self, document: Document) -> bool:
        entry = document.entry
        said = (entry.file, entry.kind, entry.mime_type, entry.number_format, entry.mapping_text)
        known = (self.file, self.kind, self.mime_type, self.number_format, self.mapping)
        return said == known and document.sha256.hex() == self.sha256


class _Known(msgspec.Struct, frozen=True):
    build_id: UUID
    state: BuildStatus
    documents: list[_KnownDocument]
    alive: bool  # a job of it is queued or running

    def changed(self, folder: Folder) -> list[Document]:
        """The documents that are not what the build wants."""
        has = {each.file: each for each in self.documents}
        return [each for each in folder.documents if not has[each.entry.file].is_as_in(each)]

    def is_past(self, folder: Folder) -> bool:
        """What is compiled, or done, is not changed any more: other documents are another build."""
        return self.state not in {BuildStatus.DOCUMENTS, BuildStatus.STOPPED} and bool(self.changed(folder))


async def _known(pipeline: PipelineSession, tx: Tx, folder: Folder, rules: RulesVersion) -> _Known | None:
    """The newest build of this battery with these rules, if it expects these files."""
    recipe = folder.recipe
    params = {
        "tenant_id": pipeline.tenant_id,
        "identifier": recipe.product.identifier,
        "serial": recipe.passport,
        "rule_package_version_id": rules.rule_package_version_id,
        "law_date": recipe.law_date,
    }
    found = maybe(await tx.query("builds/find_known", params), _Known)
    files = {document.entry.file for document in folder.documents}
    return found if found is not None and {each.file for each in found.documents} == files else None


async def _go_on(
    pipeline: PipelineSession, tx: Tx, known: _Known, folder: Folder, priority: Priority | None
) -> None:
    """With what was replaced; else, where nothing moves any more, with what is unread, or from the facts."""
    build = await builds.hold(tx, known.build_id, pipeline.tenant_id)
    if build is None or build.state == BuildStatus.DONE:
        return
    changed = known.changed(folder)
    stuck = build.state == BuildStatus.STOPPED or not known.alive
    rejected = [each for each in known.documents if each.status == DocumentStatus.REJECTED]
    if not changed and (not stuck or rejected):
        return
    waiting = {each.file for each in known.documents if each.status in _UNREAD}
    resent = changed or [each for each in folder.documents if each.entry.file in waiting]
    await builds.move(tx, build, BuildStatus.DOCUMENTS)
    if resent:
        await _resend(pipeline, tx, known.build_id, resent, priority)
    else:
        again = msgspec.structs.replace(build, state=BuildStatus.DOCUMENTS)
        await builds.documents_done(tx, again, actor_id=pipeline.actor_id)


async def _resend(
    pipeline: PipelineSession,
    tx: Tx,
    build_id: UUID,
    documents: Sequence[Document],
    priority: Priority | None,
) -> None:
    """Under a new count, so that no earlier job stands in the way of the new one."""
    params = {"tenant_id": pipeline.tenant_id, "build_id": build_id} | _columns(documents)
    counts = {row["external_ref"]: row["sent"] for row in await tx.query("builds/want_documents", params)}
    for document in documents:
        await tx.enqueue(_ingest(tx, build_id, document, counts[document.entry.file], priority))


def _columns(documents: Sequence[Document]) -> dict[str, object]:
    return {
        "files": [each.entry.file for each in documents],
        "kinds": [each.entry.kind for each in documents],
        "mime_types": [each.entry.mime_type for each in documents],
        "number_formats": [each.entry.number_format for each in documents],
        "mappings": [each.entry.mapping_text for each in documents],
        "hashes": [each.sha256 for each in documents],
    }


async def _new(pipeline: PipelineSession, tx: Tx, folder: Folder, rules: RulesVersion) -> UUID:
    recipe = folder.recipe
    product, _ = await ensure_product(pipeline, tx, recipe.product.identifier, recipe.product.name)
    passport = await ensure_passport(pipeline, tx, product, recipe.passport)
    params = {
        "tenant_id": pipeline.tenant_id,
        "battery_product_id": product.battery_product_id,
        "passport_id": passport.passport_id,
        "rule_package_version_id": rules.rule_package_version_id,
        "law_date": recipe.law_date,
    }
    build_id = value(await tx.query("builds/add", params), UUID)
    build: dict[str, object] = {"tenant_id": pipeline.tenant_id, "build_id": build_id}
    await tx.query("builds/add_documents", build | _columns(folder.documents))
    return build_id


def _ingest(tx: Tx, build_id: UUID, document: Document, sent: object, priority: Priority | None) -> NewJob:
    entry = document.entry
    declared = Declared(
        kind=entry.kind,
        mime_type=entry.mime_type,
        number_format=entry.number_format,
        mapping=entry.mapping,
    )
    digest = document.sha256 if document.content is None else blobs.keep(tx, document.content)
    return NewJob(
        type=JOB_TYPE,
        payload=ingest_payload(declared, entry.file, digest) | {"build_id": str(build_id)},
        idempotency_key=f"{build_id} {entry.file} {sent}",
        correlation_id=str(build_id),
        priority=priority,
    )


async def build_state(pipeline: PipelineSession, build_id: UUID) -> BuildState:
    async with pipeline.reading() as tx:
        return await _state(pipeline, tx, build_id)


async def _state(pipeline: PipelineSession, tx: Tx, build_id: UUID) -> BuildState:
    params = {"tenant_id": pipeline.tenant_id, "build_id": build_id}
    return one(await tx.query("builds/state", params), BuildState, "build")
