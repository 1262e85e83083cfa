"""A database that is not there: it answers what the test has told it, and keeps what was completed."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import NamedTuple

from bpc_worker.handler_api import JobId, LeaseLost, NewJob, Reading, Row, TenantId, Tx
from bpc_worker.ids import uuid7
from bpc_worker.jobs.holding import Holding
from bpc_worker.jobs.model import Claim, Status
from bpc_worker.jobs.settlement import Settlement
from bpc_worker.memory.store import MemoryJobStore

Answer = Sequence[Row] | Callable[[Mapping[str, object]], Sequence[Row]]
Answers = Mapping[str, Answer]


class Unanswered(LookupError):  # noqa: N818 - a fact about the test, not about the handler
    """A handler read something for which the test has no answer."""

    def __init__(self, asked: str) -> None:
        super().__init__(
            f"the handler read {asked!r}, and the test has no answer: give answers={{{asked!r}: [...]}}, "
            "rows as dictionaries or a function that makes them of the parameters"
        )


class Statement(NamedTuple):
    """What a handler said to the database: the name of a query, or a statement of its own on one line."""

    text: str
    params: Mapping[str, object]


class FakeTx:
    """Reading and Tx: answers by the name of the query or by the statement, and remembers what was asked."""

    def __init__(
        self,
        answers: Answers | None = None,
        *,
        strict: bool = False,
        job_id: Callable[[NewJob], JobId] | None = None,
    ) -> None:
        self._answers = {_one_line(asked): answer for asked, answer in (answers or {}).items()}
        self._strict = strict
        self._job_id = job_id or _any_id
        self.asked: list[Statement] = []
        self.queued: list[NewJob] = []

    async def query(self, name: str, params: Mapping[str, object]) -> list[Row]:
        return self._answer(name, params)

    def send(self, name: str, params: Mapping[str, object]) -> None:
        self._answer(name, params)

    async def execute(self, sql: str, params: Mapping[str, object] | None = None) -> list[Row]:
        return self._answer(_one_line(sql), params or {})

    def _answer(self, asked: str, params: Mapping[str, object]) -> list[Row]:
        self.asked.append(Statement(asked, dict(params)))
        answer = self._answers.get(asked)
        if answer is None and self._strict:
            raise Unanswered(asked)
        return list(answer(params) if callable(answer) else answer or ())

    async def enqueue(self, job: NewJob) -> JobId:
        job_id = self._job_id(job)
        self.queued.append(job)
        return job_id

    @property
    def names(self) -> list[str]:
        return [statement.text for statement in self.asked]

    def params(self, name: str) -> Mapping[str, object]:
        """Of the only statement of that name."""
        [found] = [statement.params for statement in self.asked if statement.text == name]
        return found


class FakeTransactions:
    """The completing transactions of jobs in memory: all of the writes and follow-ups are kept, or none."""

    def __init__(self, store: MemoryJobStore, answers: Answers, *, conflicts: int = 0) -> None:
        self._store = store
        self._answers = answers
        self._conflicts = conflicts
        self.kept: dict[JobId, list[Statement]] = {}
        self.unanswered: Unanswered | None = None

    @asynccontextmanager
    async def reading(self, claim: Claim) -> AsyncIterator[Reading]:
        del claim  # whose rows they are is the test's business
        try:
            yield FakeTx(self._answers, strict=True)
        except Unanswered as error:
            self.unanswered = error  # the boundary would take it for a bug of the handler's
            raise

    async def read(self, claim: Claim, name: str, params: Mapping[str, object]) -> list[Row]:
        async with self.reading(claim) as reading:
            return await reading.query(name, params)

    async def write_ahead(self, tenant_id: TenantId, name: str, params: Mapping[str, object]) -> list[Row]:
        del tenant_id
        try:
            return await FakeTx(self._answers, strict=True).query(name, params)
        except Unanswered as error:
            self.unanswered = error
            raise

    async def complete(
        self, holding: Holding, settlement: Settlement, write: Callable[[Tx], Awaitable[None]]
    ) -> tuple[Status, tuple[NewJob, ...]]:
        for _ in range(self._conflicts):  # it met another transaction, and is run again
            await write(self._begin(holding.claim)[0])
        tx, commit = self._begin(holding.claim)
        await write(tx)
        if not holding.begin_settle():
            raise LeaseLost(f"stopped: {holding.stopped}")
        try:
            status = await self._store.settle(holding.claim, settlement)
            if status is None:
                raise LeaseLost("the job is somebody else's by now")
            commit()
        finally:
            holding.end_settle()
        self.kept[holding.claim.job_id] = tx.asked
        return status, tuple(tx.queued)

    def _begin(self, claim: Claim) -> tuple[FakeTx, Callable[[], None]]:
        additions = self._store.additions()

        def job_id(job: NewJob) -> JobId:
            follow_up = replace(
                job,
                correlation_id=job.correlation_id or claim.correlation_id,
                traceparent=job.traceparent or claim.traceparent,
            )
            return additions.enqueue(claim.tenant_id, follow_up, parent=claim.job_id).job_id

        return FakeTx(self._answers, job_id=job_id), additions.commit


def _any_id(_: NewJob) -> JobId:
    return JobId(uuid7())


def _one_line(text: str) -> str:
    return " ".join(text.split())
