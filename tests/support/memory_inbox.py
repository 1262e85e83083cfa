"""A producer on a folder of its own and a queue in memory, with what its surroundings hear of it."""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from bpc_worker.core.base.hashing import sha256
from bpc_worker.engine.background import WorkerHooks
from bpc_worker.inbox.files import Inbox
from bpc_worker.inbox.handover import Handover, Started, Tell, Terms
from bpc_worker.inbox.jobs import Priorities
from bpc_worker.inbox.layout import Wanted
from bpc_worker.inbox.producer import Producer
from bpc_worker.inbox.queries import Known
from bpc_worker.jobs.errors import JobError
from bpc_worker.jobs.model import Done, Failed, NewJob, Settleable, TenantId
from bpc_worker.jobs.queue_settings import QueueSettings
from bpc_worker.jobs.store import Enqueued
from bpc_worker.memory.rows import Row
from bpc_worker.memory.store import MemoryJobStore
from bpc_worker.pipeline.builds.folder import Folder
from bpc_worker.testing import A_TENANT, an_error, an_id
from tests.support.stores import settled
from tests.support.virtual_time import VirtualClock

LIMIT = 2 * 1024 * 1024
SETTINGS = QueueSettings(owner="producer", types=("INGEST_DOCUMENT",))
OTHER_TENANT = TenantId(an_id(2))
A_BUILD = an_id(0xB)


class Token(NamedTuple):
    taken: int
    wait_seconds: float


@dataclass
class MemoryQueries:
    """What InboxQueries asks of PostgreSQL, asked of the table in memory."""

    store: MemoryJobStore
    tenants: dict[str, TenantId] = field(default_factory=lambda: {"acme": A_TENANT, "other": OTHER_TENANT})
    error: JobError | None = None

    async def tenant(self, wanted: str) -> TenantId | None:
        if self.error is not None:
            raise self.error
        return self.tenants.get(wanted)

    async def known(self, tenant_id: TenantId, job_type: str, key: str) -> Known | None:
        row = self.store.table.keys.get((tenant_id, job_type, key))
        return None if row is None else Known(row.job_id, row.status)


class MemoryQueue:
    """The store; `error` stands for whatever a database may say."""

    def __init__(self, store: MemoryJobStore) -> None:
        self._store = store
        self.error: JobError | None = None

    async def enqueue(self, tenant_id: TenantId, job: NewJob) -> Enqueued:
        if self.error is not None:
            raise self.error
        return await self._store.enqueue(tenant_id, job)


@dataclass
class MemoryBlobs:
    kept: dict[tuple[TenantId, str], bytes] = field(default_factory=dict)

    async def put(self, tenant_id: TenantId, content: bytes) -> bytes:
        digest = sha256(content)
        self.kept[tenant_id, digest.hex()] = content
        return digest


class Bench:
    def __init__(self, root: Path, *, tokens: Sequence[Token] | None = None) -> None:
        self.root = root
        self.clock = VirtualClock()
        self.store = MemoryJobStore(SETTINGS, clock=self.clock)
        self.queries = MemoryQueries(self.store)
        self.queue = MemoryQueue(self.store)
        self.blobs = MemoryBlobs()
        self.inbox = Inbox(root, Wanted(exclude=("*.part",)))
        self.tokens = None if tokens is None else list(tokens)
        self.stopping = False
        self.heard: list[str] = []
        self.database: list[JobError | None] = []
        self.builds: list[tuple[str, Folder]] = []
        self.build_error: JobError | None = None
        self.handover = self._handover()
        self.producer = self.another_producer(self.inbox, self.handover)

    def _handover(self) -> Handover:
        hooks = WorkerHooks(
            stopping=lambda: self.stopping,
            note_database=self.database.append,
            tell=lambda: self.heard.append("tell"),
            produced=lambda queue, job_type: self.heard.append(f"produced {queue} {job_type}"),
            rate_limited=lambda: self.heard.append("rate limited"),
        )
        return Handover(
            inbox=self.inbox,
            queries=self.queries,
            queue=self.queue,
            blobs=self.blobs,
            start_build=self._start_build,
            terms=Terms(
                document_bytes=LIMIT,
                priorities=Priorities(high_endings=frozenset({".json"})),
            ),
            hooks=hooks,
        )

    def another_producer(self, inbox: Inbox, handover: Handover) -> Producer:
        take_token = None if self.tokens is None else self._take_token
        return Producer(inbox, handover, handover.hooks, pause=lambda: 5.0, take_token=take_token)

    async def _take_token(self) -> Token:
        assert self.tokens
        return self.tokens.pop(0)

    async def _start_build(self, tenant: str, folder: Folder, tell: Tell) -> Started:
        if self.build_error is not None:
            raise self.build_error
        self.builds.append((tenant, folder))
        tell([NewJob(type="INGEST_DOCUMENT", payload={}, queue="builds") for _ in folder.documents])
        return Started(self.queries.tenants[tenant], A_BUILD)

    def put(self, place: str, content: bytes = b"a,b\n1,2\n") -> Path:
        path = self.root / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    async def look(self, times: int = 2) -> None:
        """What stands still is handed over at the second look."""
        for _ in range(times):
            await self.producer._try_look()

    async def end(self, *, badly: bool = False) -> None:
        """A worker has dealt with the next job."""
        [claim] = (await self.store.claim(limit=1)).claims
        outcome: Settleable = Failed(an_error()) if badly else Done()
        await self.store.settle(claim, settled(claim, outcome))

    @property
    def rows(self) -> list[Row]:
        return [*self.store.table.rows.values()]

    def payload(self, number: int = 0) -> dict[str, object]:
        found: dict[str, object] = json.loads(self.rows[number].payload)
        return found

    def files(self, folder: str = "") -> set[str]:
        """By their places, but the lock."""
        base = self.root / folder
        found = (Path(where) / name for where, _, names in os.walk(base) for name in names)
        return {str(path.relative_to(base)) for path in found} - {".lock"}

    def content(self, place: str) -> bytes:
        return (self.root / place).read_bytes()

    def said(self, place: str) -> dict[str, str]:
        found: dict[str, str] = json.loads((self.root / f"rejected/{place}.error.json").read_text())
        return found
