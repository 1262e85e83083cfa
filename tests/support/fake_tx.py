"""A transaction without a database: answers by the name of the query, and remembers what was asked."""

from collections.abc import Mapping
from uuid import UUID, uuid4

from bpc_worker.handler_api import JobId, NewJob, Row


class FakeTx:
    def __init__(self, answers: Mapping[str, list[Row]] | None = None) -> None:
        self._answers = dict(answers or {})
        self.asked: list[tuple[str, dict[str, object]]] = []
        self.queued: list[NewJob] = []

    async def query(self, name: str, params: Mapping[str, object]) -> list[Row]:
        self.asked.append((name, dict(params)))
        return self._answers.get(name, [])

    async def execute(self, sql: str, params: Mapping[str, object] | None = None) -> list[Row]:
        raise NotImplementedError

    async def enqueue(self, job: NewJob) -> JobId:
        self.queued.append(job)
        return JobId(uuid4())

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.asked]

    def params(self, name: str) -> dict[str, object]:
        """Of the only query of that name."""
        [found] = [params for asked, params in self.asked if asked == name]
        return found


def an_id(number: int) -> UUID:
    """The same number, the same id; in order of the numbers."""
    return UUID(int=number)
