"""Server-sent events: streams end with the process, and none waits for a reader who does not read."""

import asyncio
from collections import Counter
from collections.abc import Mapping

from aiohttp import web

from bpc_worker.jobs.errors import Code
from bpc_worker.web.layer.answers import Stream
from bpc_worker.web.layer.problems import Refused

_MOST, _MOST_OF_ONE = 500, 20
_WRITE_SECONDS = 10.0
_ALIVE = b":\n\n"


class Streams:
    def __init__(self) -> None:
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
        self, stream: Stream, asked: web.BaseRequest, headers: Mapping[str, str]
    ) -> web.StreamResponse:
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
            async for event in stream.events:
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
