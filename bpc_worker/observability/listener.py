"""A server that nobody can keep busy by being slow: heads, answers and silence have their time, and so many
connections their number. Where there are too many, the one that has waited for longest goes.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from aiohttp import web

_QUIET = logging.getLogger("aiohttp.server.quiet")  # what others send us wrongly is no fault of ours
_QUIET.setLevel(logging.CRITICAL)
SERVER: Final = "bpc-worker"
_LOOK_EVERY = 1.0
_TIDY_SECONDS = 1.0

Handle = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerLimits:
    connections: int
    head_seconds: (
        float  # until a request has come whole but for its body, from the first byte or the last answer
    )
    kept_seconds: float  # without a request
    send_seconds: float  # for an answer to be taken, once it is written
    line_bytes: int = 8190
    header_bytes: int = 8190
    headers: int = 64


class _Held:
    __slots__ = ("deadline", "transport")

    def __init__(self, transport: asyncio.Transport, deadline: float) -> None:
        self.transport = transport
        self.deadline: float | None = deadline  # None: at work for it, which has limits of its own


class _Connection(web.RequestHandler):
    """What is no HTTP is told so in a few words, and quotes nothing of what came."""

    __slots__ = ()

    def handle_error(
        self,
        request: web.BaseRequest,  # noqa: ARG002 - aiohttp's signature
        status: int = 500,
        exc: BaseException | None = None,  # noqa: ARG002
        message: str | None = None,  # noqa: ARG002
    ) -> web.StreamResponse:
        said = HTTPStatus(status)
        headers = {"X-Content-Type-Options": "nosniff", "Server": SERVER, "Cache-Control": "no-store"}
        response = web.Response(status=status, text=f"{status}: {said.phrase}\n", headers=headers)
        response.force_close()
        return response


class Listener(web.Server):
    """Somebody who sends half a request and waits takes a place from himself."""

    def __init__(self, handle: Handle, limits: ListenerLimits) -> None:
        super().__init__(
            self._timed,
            access_log=None,
            logger=_QUIET,
            keepalive_timeout=limits.kept_seconds,
            max_line_size=limits.line_bytes,
            max_field_size=limits.header_bytes,
            max_headers=limits.headers,
            auto_decompress=False,
            lingering_time=1.0,
        )
        self._handle = handle
        self._limits = limits
        self._held: dict[web.RequestHandler, _Held] = {}
        self._clock = asyncio.get_running_loop().time
        self._timer: asyncio.TimerHandle | None = None

    def __call__(self) -> web.RequestHandler:
        return _Connection(self, loop=self._loop, **self._kwargs)

    @property
    def open(self) -> int:
        return len(self._held)

    async def _timed(self, request: web.BaseRequest) -> web.StreamResponse:
        held = self._held.get(request.protocol)
        if held is not None:
            held.deadline = None
        try:
            return await self._handle(request)
        finally:
            if held is not None:
                held.deadline = self._clock() + self._limits.send_seconds

    def connection_made(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        super().connection_made(handler, transport)
        self._held[handler] = _Held(transport, self._clock() + self._limits.head_seconds)
        if self._timer is None:
            self._look_later()
        if len(self._held) > self._limits.connections:
            self._make_room()

    def connection_lost(self, handler: web.RequestHandler, exc: BaseException | None = None) -> None:
        super().connection_lost(handler, exc)
        self._held.pop(handler, None)

    def _make_room(self) -> None:
        """The oldest that nobody works for; of those at work, the oldest of all."""
        waiting = (handler for handler, held in self._held.items() if held.deadline is not None)
        oldest = next(waiting, None) or next(iter(self._held))
        self._held.pop(oldest).transport.abort()

    def _look_later(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(_LOOK_EVERY, self._look)

    def _look(self) -> None:
        now = self._clock()
        late = [each for each in self._held.values() if each.deadline is not None and each.deadline < now]
        for each in late:
            each.transport.abort()
        self._timer = None
        if self._held:
            self._look_later()


class Listening:
    """A listener at an address."""

    def __init__(self, handle: Handle, limits: ListenerLimits, *, grace: float = 0.5) -> None:
        self._make: Callable[[], Listener] = lambda: Listener(handle, limits)
        self._grace = grace  # for what is being answered when it is to end
        self._backlog = min(1024, limits.connections)
        self._listener: Listener | None = None
        self._runner: web.ServerRunner | None = None

    @property
    def open(self) -> int:
        return 0 if self._listener is None else self._listener.open

    async def start(self, host: str, port: int) -> int:
        """The port in use, which matters when 0 was asked for. OSError when it is taken."""
        self._listener = self._make()
        self._runner = web.ServerRunner(self._listener, shutdown_timeout=self._grace)
        await self._runner.setup()
        await web.TCPSite(self._runner, host, port, backlog=self._backlog).start()
        addresses: list[Any] = self._runner.addresses
        return int(addresses[0][1])

    async def stop(self) -> None:
        if self._runner is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._grace + _TIDY_SECONDS):
                    await self._runner.cleanup()
