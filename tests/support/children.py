"""Real children to ask, and what can be seen of them from outside."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from uuid import UUID

from bpc_worker.handler_api import ChildTask, TenantId
from bpc_worker.processes.pool import Children
from tests.support.child_tasks import WORK, Ask, Say

TENANT, ANOTHER = TenantId(UUID(int=1)), TenantId(UUID(int=2))


class AskedChildren(Children):
    """Children that are asked in the name of one tenant and one type of job, unless told otherwise."""

    async def ask(
        self,
        request: Ask,
        *,
        task: ChildTask[Ask, Say] = WORK,
        tenant_id: TenantId = TENANT,
        job_type: str = "TEST_WORK",
    ) -> Say:
        return await self.run(task, request, tenant_id=tenant_id, job_type=job_type)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def processes_below(pid: int) -> list[int]:
    """All of them, however deep."""
    below: list[int] = []
    with suppress(FileNotFoundError, ProcessLookupError):
        below += children_of(pid)
    return below + [deeper for child in below for deeper in processes_below(child)]


def children_of(pid: int) -> list[int]:
    """The processes that this one started, by any of its threads, and those that it adopted."""
    return sorted(_children_of(pid))


def _children_of(pid: int) -> Iterator[int]:
    for thread in Path(f"/proc/{pid}/task").glob("*/children"):
        yield from map(int, thread.read_text().split())
