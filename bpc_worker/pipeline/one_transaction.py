"""Several acts of a tenant's pipeline as one: all of them take effect together, or none does."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from bpc_worker.handler_api import Tx
from bpc_worker.jobs.errors import JobError
from bpc_worker.pipeline.session import PipelineSession
from bpc_worker.postgres.again import again

T = TypeVar("T")


class _UndoneError(Exception):
    """What went wrong inside: for the whole to be run again or given up, never for one act alone."""

    def __init__(self, error: JobError) -> None:
        super().__init__(str(error))
        self.error = error


@dataclass(frozen=True, slots=True, kw_only=True)
class OneTransaction(PipelineSession):
    """A session whose transactions are all the same one. Made by `in_one`."""

    tx: Tx

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Tx]:
        """A part of the whole; what fails in it undoes the whole."""
        try:
            yield self.tx
        except JobError as error:
            raise _UndoneError(error) from error

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[Tx]:
        """What the acts before it have written is there already."""
        async with self.transaction() as tx:
            yield tx


@again
async def in_one(pipeline: PipelineSession, work: Callable[[OneTransaction], Awaitable[T]]) -> T:
    """`work` may be run several times, as any transaction; what it did before is undone then."""
    known: dict[str, Any] = {each.name: getattr(pipeline, each.name) for each in fields(PipelineSession)}
    try:
        async with pipeline.transaction() as tx:
            return await work(OneTransaction(**known, tx=tx))
    except _UndoneError as undone:
        raise undone.error from undone
