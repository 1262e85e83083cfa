"""What every route of the API works with: the caller's pipeline, and those who wait."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Concatenate, ParamSpec, TypeVar
from uuid import UUID

from bpc_worker.config.settings import Settings
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.pipeline.session import PipelineSession, uuid_or_none
from bpc_worker.web.api.waiting import Watch
from bpc_worker.web.database.roles import WebDatabase
from bpc_worker.web.layer.problems import Refused
from bpc_worker.web.layer.request import Request

P = ParamSpec("P")
T = TypeVar("T")

_AT_ONCE = 2  # of what takes long: others are answered meanwhile


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    settings: Settings
    database: WebDatabase
    watch: Watch
    _heavy: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_AT_ONCE))

    @asynccontextmanager
    async def pipeline(self, request: Request) -> AsyncIterator[PipelineSession]:
        """Acts in the name of whoever asks."""
        _check_tenant(request)
        async with self.database.pipeline(request.identity) as pipeline:
            yield pipeline

    async def read(
        self,
        request: Request,
        work: Callable[Concatenate[PipelineSession, P], Awaitable[T]],
        *args: P.args,
        **options: P.kwargs,
    ) -> T:
        """Something of the pipeline, over a connection that writes nothing."""
        _check_tenant(request)
        async with self.database.pipeline(request.identity, read_only=True) as pipeline:
            return await work(pipeline, *args, **options)

    async def apart(self, work: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
        """In a thread of its own: it computes for longer than others should wait."""
        async with self._heavy:
            return await asyncio.to_thread(work, *args, **options)


def _check_tenant(request: Request) -> None:
    if request.identity.tenant_id is None:
        raise Refused(
            403, Code.FORBIDDEN, "whoever asks is of all tenants, and this is about one",
            next_="ask with a token of that tenant: `bpc-worker token create NAME --tenant …`",
        )  # fmt: skip


def id_of(request: Request, name: str, what: str) -> UUID:
    """A word that is no id is the id of nothing."""
    found = uuid_or_none(request.path_args[name])
    if found is None or str(found) != request.path_args[name].lower():
        raise Permanent(Code.NOT_FOUND, f"there is no such {what}")
    return found
