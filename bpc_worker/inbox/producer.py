"""The producer: looks into the inbox, and makes jobs of what lies there.

Every step may be the last. A file is taken out of the inbox, its job is committed under a key made of its
bytes, then it moves to done/: whoever finds it in between does the same again, and the key makes it one job.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import ParamSpec, TypeVar

import msgspec

from bpc_worker import ids, wiring
from bpc_worker.config.settings import Settings
from bpc_worker.config.yaml import load_plain
from bpc_worker.engine.background import Duty, WorkerHooks
from bpc_worker.inbox.files import ChangedError, Inbox
from bpc_worker.inbox.jobs import JOB_TYPE, FolderSays, Priorities, check_place, declared, ingest, refusal
from bpc_worker.inbox.keeping import MOST_INSIDE, kept_key, kept_name
from bpc_worker.inbox.layout import DECLARATION, Meaning, Place, Wanted, shown
from bpc_worker.inbox.queries import InboxQueries
from bpc_worker.inbox.stillness import Found, Stillness
from bpc_worker.jobs.errors import Code, JobError, Permanent, Retryable, SchemaMismatch, Unavailable
from bpc_worker.jobs.model import NewJob, Priority, Status, TenantId
from bpc_worker.observability import log
from bpc_worker.pipeline.builds.start import read_folder, start_build
from bpc_worker.pipeline.session import open_owner
from bpc_worker.postgres.connection import Link
from bpc_worker.postgres.queue.store import PostgresJobs
from bpc_worker.postgres.queue.token_buckets import Buckets, Limit
from bpc_worker.registry import Registry

_log = log.get("producer")

_LAST_FILE_SECONDS = 0.8  # the engine waits a second for its duties
_ENDED_BADLY = frozenset({Status.FAILED, Status.DEAD_LETTER, Status.CANCELLED})

P = ParamSpec("P")
T = TypeVar("T")


def duty(settings: Settings, registry: Registry, url: str, folder: str) -> Duty:
    """What `app` runs beside the other duties."""
    return lambda around: Producer(settings, registry, url, Path(folder), around).run()


class Producer:
    def __init__(
        self, settings: Settings, registry: Registry, url: str, folder: Path, around: WorkerHooks
    ) -> None:
        wanted = settings.producer
        dsn, call_timeout = wiring.dsn(settings, url, quiet=True), wiring.call_timeout(settings)
        self._settings, self._registry, self._url, self._around = settings, registry, url, around
        self._inbox = Inbox(folder, Wanted(include=wanted.include_globs, exclude=wanted.exclude_globs))
        self._link = Link(dsn)
        self._queries = InboxQueries(self._link, call_timeout=call_timeout)
        self._buckets = Buckets(self._link, call_timeout=call_timeout)
        self._jobs = PostgresJobs(dsn, wiring.queue_settings(settings, registry))
        self._limit = (
            Limit(key=wanted.rate_limit_key, per_second=wanted.rate_limit_per_sec)
            if wanted.rate_limit_per_sec
            else None
        )
        self._priorities = Priorities(
            default=Priority.named(wanted.default_priority),
            high_endings=frozenset(wanted.high_priority_exts),
        )
        self._stillness = Stillness()
        self._said: dict[str, str] = {}
        self._held: bool | None = None

    async def run(self) -> None:
        try:
            while True:
                if not self._around.stopping():
                    await self._try_look()
                await asyncio.sleep(ids.spread(self._settings.producer.scan_interval_seconds, 0.1))
        finally:
            self._inbox.close()
            self._link.drop()
            self._jobs.close()

    async def _try_look(self) -> None:
        try:
            await self.look()
        except JobError as error:
            self._around.note_database(error)
            self._complain("", error.message, error.code)
        except OSError as error:
            self._complain("", f"the inbox: {error.strerror or error}")
        else:
            self._said.pop("", None)

    async def look(self) -> None:
        """Hand over everything that stands still."""
        if not await self._at_work():
            return
        seen = await _in_thread(self._inbox.look)
        places = {"", *(shown(each.place) for each in seen.found), *map(shown, seen.troubles)}
        self._said = {place: why for place, why in self._said.items() if place in places}
        for place, why in seen.troubles.items():
            self._complain(shown(place), why)
        for found in self._stillness.settled(seen.found):
            if self._limit is not None:
                await self._token(self._limit)
            if self._around.stopping():
                return
            await _to_its_end(self._one(found))
        await self._forget_kept()

    async def _at_work(self) -> bool:
        held = await _in_thread(self._inbox.hold)
        if held != self._held:
            self._held = held
            _log.info("inbox_held" if held else "inbox_held_by_another_producer")
        return held

    async def _token(self, limit: Limit) -> None:
        while not self._around.stopping():
            got = await self._buckets.take(limit)
            if got.taken:
                return
            self._around.rate_limited()
            await asyncio.sleep(got.wait_seconds)

    async def _one(self, found: Found) -> None:
        """Whatever is wrong with it keeps nobody else waiting."""
        try:
            tenant_id = await self._tenant(found.place)  # first: without a database nothing is taken
            if not found.taken:
                await _in_thread(self._inbox.take, found)
            await self._hand_over(found, tenant_id)
            await _in_thread(self._inbox.finish, found)
        except JobError as error:
            await self._could_not(found, error)
        except OSError as error:
            self._complain(shown(found.place), f"it cannot be moved or read: {error.strerror or error}")
        except ChangedError:
            _log.debug("inbox_file_changes", source=shown(found.place))

    async def _could_not(self, found: Found, error: JobError) -> None:
        if isinstance(error, Unavailable) or error.code == Code.QUEUE_FULL:
            raise error  # the others would fare no better: all wait
        if isinstance(error, Permanent):
            await self._reject(found, error)
        else:
            self._complain(shown(found.place), error.message, error.code)

    async def _reject(self, found: Found, error: Permanent) -> None:
        _log.warning(
            "inbox_rejected", source=shown(found.place), error_code=error.code, error_message=error.message
        )
        try:
            await _in_thread(self._inbox.reject, found, refusal(found.place, error))
        except OSError as failed:
            self._complain(shown(found.place), f"it cannot be moved: {failed.strerror or failed}")

    async def _tenant(self, place: Place) -> TenantId | None:
        if not place[0].isprintable():
            return None
        tenant_id = await self._queries.tenant(place[0])
        self._around.note_database(None)
        return tenant_id

    async def _hand_over(self, found: Found, tenant_id: TenantId | None) -> None:
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
        what = declared(found.place, await _in_thread(self._folder_says, found.place))
        content = await _in_thread(self._inbox.read, found, self._settings.limits.document_bytes)
        priority = self._priorities.of(found.place)
        job = ingest(what, found.place, content, kept_at=None, priority=priority)
        if len(content) > MOST_INSIDE and self._workers_read_what_is_kept:
            name = kept_name(tenant_id, job)
            path = await _in_thread(self._inbox.keep, name, content)
            job = ingest(what, found.place, content, kept_at=str(path.resolve()), priority=priority)
        await self._enqueue(tenant_id, job)

    @property
    def _workers_read_what_is_kept(self) -> bool:
        kept = self._inbox.kept_folder.resolve()
        return any(kept.is_relative_to(Path(folder).resolve()) for folder in self._settings.ingest.folders)

    def _folder_says(self, place: Place) -> FolderSays:
        try:
            text = self._inbox.declaration(place)
            return FolderSays() if text is None else msgspec.convert(load_plain(text) or {}, FolderSays)
        except (OSError, ValueError) as error:
            where = f"{'/'.join(place[:-1])}/{DECLARATION}"
            do = f"mend {where}, then put the file back"
            raise Permanent(Code.VALIDATION_ERROR, f"{where}: {error}", detail={"do": do}) from error

    async def _enqueue(self, tenant_id: TenantId, job: NewJob) -> None:
        try:
            done = await self._jobs.enqueue(tenant_id, job)
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
        known = await self._queries.known(tenant_id, job.type, job.idempotency_key or "")
        if known is None or known.status not in _ENDED_BADLY:
            _log.info(
                "inbox_known", tenant_id=str(tenant_id), job_id=None if known is None else str(known.job_id)
            )
            return
        message = f"the same bytes came before, and their job {known.job_id} is {known.status}"
        do = "see why in its last_error; retry that job, or send a corrected file"
        raise Permanent(Code.IDEMPOTENCY_CONFLICT, message, detail={"do": do})

    async def _build(self, found: Found) -> None:
        path, limit = self._inbox.taken_at(found), self._settings.limits.document_bytes
        try:
            read = await _in_thread(read_folder, path, document_bytes=limit)
        except Permanent as error:  # in the words of whoever put it there
            said = error.message.replace(str(path), shown(found.place))
            raise Permanent(error.code, said, detail=error.detail) from error
        # The folder moves on to done/, so its documents travel inside their jobs.
        folder = replace(read, documents=tuple(replace(each, path=None) for each in read.documents))
        tenant = found.place[0]
        try:
            async with open_owner(self._settings, self._registry, self._url, tenant, self._tell) as owner:
                state = await start_build(owner, folder)
        except SchemaMismatch as error:  # a login that may only queue documents goes on doing so
            hint = "is it granted bpc_app, which builds need?"
            raise Retryable(
                error.code, f"the producer's login cannot make it: {error.message}; {hint}"
            ) from error
        _log.info("inbox_build", tenant_id=str(owner.tenant_id), correlation_id=str(state.build_id))

    def _tell(self, queued: Sequence[NewJob]) -> None:
        for job in queued:
            self._around.produced(job.queue or "default", job.type)
        self._around.tell()

    async def _forget_kept(self) -> None:
        """Copies for workers that none of them needs any more."""
        names = await _in_thread(self._inbox.kept)
        kept = {key: name for name in names if (key := kept_key(name)) is not None}
        if not kept:
            return
        for settled in await self._queries.settled(JOB_TYPE, tuple(kept)):
            await _in_thread(self._inbox.forget, kept[settled.tenant_id, settled.idempotency_key])

    def _complain(self, place: str, why: str, code: str | None = None) -> None:
        """Once, until something else is wrong."""
        if self._said.get(place) != why:
            self._said[place] = why
            _log.warning("inbox_trouble", source=place, reason=why, error_code=code)


async def _to_its_end(work: Coroutine[object, object, None]) -> None:
    """A file that was begun is finished when the worker stops, if that is quick."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task}, timeout=_LAST_FILE_SECONDS)
        task.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await task
        raise


def _in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Awaitable[T]:
    """File systems may be slow; the probes are not."""
    return asyncio.to_thread(work, *args, **kwargs)
