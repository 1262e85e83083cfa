"""Server-sent events: streams end with the process, and none waits for a reader who does not read."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from time import monotonic
from typing import Final

from aiohttp import web

from bpc_worker.jobs.errors import Code
from bpc_worker.web.layer.answers import Stream
from bpc_worker.web.layer.problems import Refused

_MOST, _MOST_OF_ONE = 500, 20
_WRITE_SECONDS = 10.0
_ALIVE = b":\n\n"
LOOK_AGAIN_SECONDS: Final = 20.0

MayGoOn = Callable[[], Awaitable[bool]]


async def nobody_asks() -> bool:
    return True


class Streams:
    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._tasks: dict[asyncio.Task[object], str] = {}
        self._is_ending = False

    def __len__(self) -> int:
        return len(self._tasks)

    def end(self) -> None:
        """All of them, in good order; there will be no new one."""
        self._is_ending = True
        for task in self._tasks:
            task.cancel()

    async def send(
        self, stream: Stream, asked: web.BaseRequest, headers: Mapping[str, str], may_go_on: MayGoOn
    ) -> web.StreamResponse:
        """`may_go_on` is asked now and then: a token may be revoked while its page is open."""
        address = asked.remote or ""
        self._check_room(address)
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a server runs every request in one
        response = web.StreamResponse(
            headers={**headers, "Content-Type": stream.media_type, "X-Accel-Buffering": "no"}
        )
        self._tasks[task] = address
        try:
            await response.prepare(asked)
            asked_again_at = self._clock() + LOOK_AGAIN_SECONDS
            async for event in stream.events:
                if self._clock() > asked_again_at:
                    if not await may_go_on():
                        break
                    asked_again_at = self._clock() + LOOK_AGAIN_SECONDS
                async with asyncio.timeout(_WRITE_SECONDS):
                    await response.write(_ALIVE if event is None else event)
        except asyncio.CancelledError:
            if not self._is_ending:
                raise
            task.uncancel()
        except (ConnectionError, TimeoutError):
            pass  # whoever read has gone
        finally:
            del self._tasks[task]
            await stream.aclose()
        return response

    def _check_room(self, address: str) -> None:
        if self._is_ending:
            raise Refused(503, Code.DB_UNAVAILABLE, "this process is about to end")
        if len(self._tasks) >= _MOST or Counter(self._tasks.values())[address] >= _MOST_OF_ONE:
            raise Refused(429, Code.RATE_LIMITED, "there are too many live pages open")
