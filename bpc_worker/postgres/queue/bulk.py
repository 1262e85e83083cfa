"""Many jobs at once: as arrays of one statement, or, for thousands without any condition, by COPY."""

from collections.abc import Iterator, Mapping, Sequence

from bpc_worker.ids import uuid7
from bpc_worker.jobs.errors import Retryable
from bpc_worker.jobs.model import JobId, NewJob, TenantId
from bpc_worker.jobs.queue_settings import QueueSettings, enqueue_params
from bpc_worker.jobs.store import Enqueued
from bpc_worker.postgres.arrays import array
from bpc_worker.postgres.connection import Link
from bpc_worker.postgres.queue.job_rows import enqueued
from bpc_worker.postgres.sql_files import query

Params = Mapping[str, object]

_COPY_FROM = 500
_CHUNK = 256
# What COPY can be given: no defaults of the database's clock, and no keys that might be there already.
_COPIED = (
    "job_id", "tenant_id", "type", "queue", "priority", "payload", "max_attempts", "expected_duration_ms",
    "spec_hash", "parent_job_id", "correlation_id", "traceparent",
)  # fmt: skip
_COPY = f"COPY jobs ({', '.join(_COPIED)}) FROM STDIN".encode()
_ESCAPES = str.maketrans({"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r"})


class Bulk:
    """One call: the same ids however often it has to be repeated."""

    def __init__(self, settings: QueueSettings, tenant_id: TenantId, jobs: Sequence[NewJob]) -> None:
        self._jobs = jobs
        self._tenant_id = tenant_id
        self._timeout = settings.call_timeout * (1 + len(jobs) // 1000)
        self._rows = [enqueue_params(settings, tenant_id, job, None, job_id=uuid7()) for job in jobs]
        self._copied = len(jobs) >= _COPY_FROM and not any(_is_conditional(job) for job in jobs)

    async def send(self, link: Link, *, now: object) -> list[Enqueued]:
        if not self._copied or now is not None:
            return await self._insert(link, now)
        try:
            await link.copy(_COPY, self._lines(), timeout=self._timeout)
        except Retryable:
            self._copied = False  # it may have taken place: only an INSERT can tell
            raise
        return [Enqueued(JobId(row["job_id"]), added=True) for row in self._rows]  # type: ignore[arg-type]  # a UUID

    async def new(self, link: Link) -> int:
        """How many of them are not there yet, under their keys or from a call whose answer was lost."""
        if not any(job.idempotency_key for job in self._jobs):
            return len(self._jobs)
        names = ("job_id", "type", "idempotency_key")
        params = {name: array(row[name] for row in self._rows) for name in names}
        [row] = await link.run(
            query("jobs/count_new"), params | {"tenant_id": self._tenant_id}, timeout=self._timeout
        )
        return int(row["new"])

    async def _insert(self, link: Link, now: object) -> list[Enqueued]:
        names = [name for name in self._rows[0] if name != "tenant_id"]
        params: dict[str, object] = {name: array(row[name] for row in self._rows) for name in names}
        params |= {"tenant_id": self._tenant_id, "now": now}
        async with link.transaction(timeout=self._timeout):  # a conflict takes back the others too
            rows = await link.run(query("jobs/enqueue_many"), params, timeout=self._timeout)
            return [enqueued([row] if row["job_id"] is not None else []) for row in rows]

    def _lines(self) -> Iterator[bytes]:
        for start in range(0, len(self._rows), _CHUNK):
            yield "".join(_line(row) for row in self._rows[start : start + _CHUNK]).encode()


def _is_conditional(job: NewJob) -> bool:
    return job.idempotency_key is not None or job.scheduled_at is not None or job.delay_seconds > 0


def _line(row: Params) -> str:
    return "\t".join([_text(row[name]) for name in _COPIED]) + "\n"


def _text(value: object) -> str:
    match value:
        case None:
            return r"\N"
        case bytes():
            return rf"\\x{value.hex()}"
        case str():
            return value.translate(_ESCAPES)
        case _:
            return str(value)
