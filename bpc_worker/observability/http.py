"""Probes and metrics over HTTP, answered by the control loop within a moment, to whoever asks in time."""

import asyncio
from collections.abc import Callable

from aiohttp import web

Checks = Callable[[], dict[str, str]]
_MOST_CONNECTIONS = 64
_LONGEST_SECONDS = 10.0  # of a connection: its head, its answer and what it says next
_KEPT_SECONDS = 5.0  # without a request


class _Door(web.Server):
    """A few connections at a time, each for a short while. Where there are too many, the oldest goes.

    Somebody who sends half a request and waits takes a place from himself: a probe says all at once.
    """

    def __init__(
        self, answer: Callable[[web.BaseRequest], web.Response], *, most: int, longest: float
    ) -> None:
        async def handle(request: web.BaseRequest) -> web.Response:
            return answer(request)

        super().__init__(handle, access_log=None, keepalive_timeout=min(longest, _KEPT_SECONDS))
        self._most = most
        self._longest = longest
        self._open: dict[web.RequestHandler, tuple[asyncio.Transport, asyncio.TimerHandle]] = {}

    def connection_made(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        super().connection_made(handler, transport)
        timer = asyncio.get_running_loop().call_later(self._longest, transport.abort)
        self._open[handler] = transport, timer
        while len(self._open) > self._most:
            oldest, oldest_timer = self._open.pop(next(iter(self._open)))
            oldest_timer.cancel()
            oldest.abort()

    def connection_lost(self, handler: web.RequestHandler, exc: BaseException | None = None) -> None:
        super().connection_lost(handler, exc)
        if (found := self._open.pop(handler, None)) is not None:
            found[1].cancel()


class ProbeServer:
    def __init__(
        self,
        *,
        live: Checks,
        ready: Checks,
        metrics: Callable[[], bytes],
        most_connections: int = _MOST_CONNECTIONS,
        longest_seconds: float = _LONGEST_SECONDS,
    ) -> None:
        self._metrics = metrics
        self._most, self._longest = most_connections, longest_seconds
        self._pages: dict[str, Callable[[], web.Response]] = {
            **dict.fromkeys(("/v1/health/live", "/livez"), lambda: _probe(live())),
            **dict.fromkeys(("/v1/health/ready", "/readyz", "/healthz"), lambda: _probe(ready())),
            **dict.fromkeys(("/v1/metrics", "/metrics"), self._show_metrics),
        }
        self._runner: web.ServerRunner | None = None

    async def start(self, host: str, port: int) -> int:
        """Listen; the port in use, which matters when 0 was asked for. OSError when it is taken."""
        door = _Door(self._answer, most=self._most, longest=self._longest)
        self._runner = web.ServerRunner(door, shutdown_timeout=0.5)
        await self._runner.setup()
        site = web.TCPSite(self._runner, host, port, backlog=self._most)
        await site.start()
        return int(self._runner.addresses[0][1])

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    def _answer(self, request: web.BaseRequest) -> web.Response:
        page = self._pages.get(request.path)
        if page is None:
            return web.Response(status=404, text="404: Not Found")
        if request.method not in {"GET", "HEAD"}:
            return web.Response(status=405, text="405: Method Not Allowed", headers={"Allow": "GET, HEAD"})
        return page()

    def _show_metrics(self) -> web.Response:
        return web.Response(
            body=self._metrics(),
            headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"},
        )


def _probe(checks: dict[str, str]) -> web.Response:
    good = passed(checks)
    body = {"status": "OK" if good else "UNAVAILABLE", "checks": checks}
    return web.json_response(body, status=200 if good else 503)


def passed(checks: dict[str, str]) -> bool:
    return all(value.startswith("ok") for value in checks.values())
