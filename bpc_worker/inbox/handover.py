"""From a file that was taken out of the inbox to the job, or the build, that it becomes."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol
from uuid import UUID

import msgspec

from bpc_worker.config.yaml import load_plain
from bpc_worker.domain.blobs import Blobs
from bpc_worker.engine.background import WorkerHooks
from bpc_worker.inbox.files import Inbox
from bpc_worker.inbox.jobs import FolderSays, Priorities, check_place, declared, ingest
from bpc_worker.inbox.layout import DECLARATION, Meaning, Place, shown
from bpc_worker.inbox.queries import Known
from bpc_worker.inbox.stillness import Found
from bpc_worker.jobs.errors import Code, Permanent, Retryable, SchemaMismatch
from bpc_worker.jobs.model import NewJob, Status, TenantId
from bpc_worker.jobs.store import Enqueued
from bpc_worker.observability import log
from bpc_worker.pipeline.builds.folder import Folder, read_folder

_log = log.get("producer")

_ENDED_BADLY = frozenset({Status.FAILED, Status.DEAD_LETTER, Status.CANCELLED})


class Queries(Protocol):
    async def tenant(self, wanted: str) -> TenantId | None: ...

    async def known(self, tenant_id: TenantId, job_type: str, key: str) -> Known | None: ...


class Queue(Protocol):
    async def enqueue(self, tenant_id: TenantId, job: NewJob) -> Enqueued: ...


class Started(NamedTuple):
    tenant_id: TenantId
    build_id: UUID


Tell = Callable[[Sequence[NewJob]], None]  # what was queued, after the commit
StartBuild = Callable[[str, Folder, Tell], Coroutine[object, object, Started]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    document_bytes: int  # of one document, at most
    priorities: Priorities


@dataclass(frozen=True, slots=True, kw_only=True)
class Handover:
    inbox: Inbox
    queries: Queries
    queue: Queue
    blobs: Blobs
    start_build: StartBuild
    terms: Terms
    hooks: WorkerHooks

    async def tenant(self, place: Place) -> TenantId | None:
        """Whose folder it is."""
        if not place[0].isprintable():
            return None
        tenant_id = await self.queries.tenant(place[0])
        self.hooks.note_database(None)
        return tenant_id

    async def hand_over(self, found: Found, tenant_id: TenantId | None) -> None:
        check_place(found.place, found.meaning)
        if tenant_id is None:
            message = f"no tenant {found.place[0]!r}"
            do = f"add it with `bpc-worker tenant add {found.place[0]}`, then put the file back"
            raise Permanent(Code.NOT_FOUND, message, detail={"do": do})
        if found.meaning is Meaning.FOLDER:
            await self._build(found)
        else:
            await self._document(found, tenant_id)

    async def _document(self, found: Found, tenant_id: TenantId) -> None:
        what = declared(found.place, await asyncio.to_thread(self._folder_says, found.place))
        content = await asyncio.to_thread(self.inbox.read, found, self.terms.document_bytes)
        priority = self.terms.priorities.of(found.place)
        digest = await self.blobs.put(tenant_id, content)  # first: a job finds it there
        await self._enqueue(tenant_id, ingest(what, found.place, digest, priority=priority))

    def _folder_says(self, place: Place) -> FolderSays:
        try:
            text = self.inbox.declaration(place)
            return FolderSays() if text is None else msgspec.convert(load_plain(text) or {}, FolderSays)
        except (OSError, ValueError) as error:
            where = f"{'/'.join(place[:-1])}/{DECLARATION}"
            do = f"mend {where}, then put the file back"
            raise Permanent(Code.VALIDATION_ERROR, f"{where}: {error}", detail={"do": do}) from error

    async def _enqueue(self, tenant_id: TenantId, job: NewJob) -> None:
        try:
            done = await self.queue.enqueue(tenant_id, job)
        except Permanent as error:
            if error.code != Code.IDEMPOTENCY_CONFLICT:  # which says: the same bytes under another name
                raise
        else:
            if done.added:
                self._tell([job])
                _log.debug("inbox_ingested", job_id=str(done.job_id), tenant_id=str(tenant_id))
                return
        await self._check_known(tenant_id, job)

    async def _check_known(self, tenant_id: TenantId, job: NewJob) -> None:
        """Known bytes are not ingested again; where that went wrong, their sender should know."""
        known = await self.queries.known(tenant_id, job.type, job.idempotency_key or "")
        if known is None or known.status not in _ENDED_BADLY:
            _log.info(
                "inbox_known", tenant_id=str(tenant_id), job_id=None if known is None else str(known.job_id)
            )
            return
        message = f"the same bytes came before, and their job {known.job_id} is {known.status}"
        do = "see why in its last_error; retry that job, or send a corrected file"
        raise Permanent(Code.IDEMPOTENCY_CONFLICT, message, detail={"do": do})

    async def _build(self, found: Found) -> None:
        folder = await asyncio.to_thread(self._folder, found)
        try:
            started = await self.start_build(found.place[0], folder, self._tell)
        except SchemaMismatch as error:  # a login that may only queue documents goes on doing so
            hint = "is it granted bpc_app, which builds need?"
            raise Retryable(
                error.code, f"the producer's login cannot make it: {error.message}; {hint}"
            ) from error
        _log.info("inbox_build", tenant_id=str(started.tenant_id), correlation_id=str(started.build_id))

    def _folder(self, found: Found) -> Folder:
        path = self.inbox.taken_at(found)
        try:
            return read_folder(path, document_bytes=self.terms.document_bytes)
        except Permanent as error:  # in the words of whoever put it there
            said = error.message.replace(str(path), shown(found.place))
            raise Permanent(error.code, said, detail=error.detail) from error

    def _tell(self, queued: Sequence[NewJob]) -> None:
        for job in queued:
            self.hooks.produced(job.queue or "default", job.type)
        self.hooks.tell()
