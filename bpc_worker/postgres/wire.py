"""psycopg's connection, but nobody waits for its server in vain."""

import asyncio
import math
import os
import socket
import time
from collections.abc import Generator, Mapping
from typing import Any, TypeVar

import psycopg
from psycopg import waiting
from psycopg.rows import DictRow

from bpc_worker.postgres.pipeline import Names

T = TypeVar("T")


class NoAnswerError(psycopg.OperationalError):
    """The time is up."""


class Connection(psycopg.AsyncConnection[DictRow]):
    """One that waits for its server until a given moment and not longer, whatever happens.

    psycopg, when a call is cancelled, asks the server to cancel it too and waits for that: a stopped server
    never answers. Here a call that was cancelled or is late is over at once, and its connection with it.
    """

    answer_by: float = math.inf  # by time.monotonic()
    tuples: psycopg.AsyncRawCursor[tuple[Any, ...]] | None = None
    names: Names | None = None
    local_settings: Mapping[str, str] = {}  # of every transaction, behind a pooler

    async def wait(
        self,
        gen: Generator[Any, Any, T],
        interval: float = 0.0,  # noqa: ARG002 - nothing but the server and the time can end this wait
        timeout: float | None = None,  # noqa: ARG002 - ours is `answer_by`
    ) -> T:
        left = max(0.001, self.answer_by - time.monotonic())
        patience = left if math.isfinite(left) else None
        try:
            return await waiting.wait_async(gen, self.pgconn.socket, interval=min(left, 60), timeout=patience)
        except asyncio.CancelledError:
            self.answer_by = -math.inf  # psycopg's tidying up waits for nothing either
            raise
        except psycopg.errors._WaitTimeout as error:  # noqa: SLF001 - it has no other name
            self.answer_by = -math.inf
            raise NoAnswerError("no answer in time") from error

    @property
    def was_given_up(self) -> bool:
        """By us, while the server still owed an answer."""
        return self.answer_by == -math.inf

    def cut(self) -> None:
        """Without asking the server: it may be stopped, and we must not wait for it."""
        self.tuples = None  # break the reference cycle: it would wait for the collector
        if not self.closed:
            try:
                with socket.socket(fileno=os.dup(self.fileno())) as wire:
                    wire.shutdown(socket.SHUT_RDWR)
            except (OSError, psycopg.Error):
                pass  # it was gone already
        self.pgconn.finish()
