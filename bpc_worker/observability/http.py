"""Probes and metrics over HTTP, answered by the control loop within a moment, to whoever asks in time."""

from collections.abc import Callable

from aiohttp import web

from bpc_worker.observability.listener import ListenerLimits, Listening

Checks = Callable[[], dict[str, str]]
_MOST_CONNECTIONS = 64
_LONGEST_SECONDS = 10.0  # for a head, and for an answer to be taken
_KEPT_SECONDS = 5.0  # without a request


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
        self._pages: dict[str, Callable[[], web.Response]] = {
            **dict.fromkeys(("/v1/health/live", "/livez"), lambda: _probe(live())),
            **dict.fromkeys(("/v1/health/ready", "/readyz", "/healthz"), lambda: _probe(ready())),
            **dict.fromkeys(("/v1/metrics", "/metrics"), self._show_metrics),
        }
        limits = ListenerLimits(
            connections=most_connections,
            head_seconds=longest_seconds,
            kept_seconds=min(longest_seconds, _KEPT_SECONDS),
            send_seconds=longest_seconds,
        )
        self._listening = Listening(self._answer, limits)

    async def start(self, host: str, port: int) -> int:
        """Listen; the port in use, which matters when 0 was asked for. OSError when it is taken."""
        return await self._listening.start(host, port)

    async def stop(self) -> None:
        await self._listening.stop()

    async def _answer(self, request: web.BaseRequest) -> web.Response:
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
