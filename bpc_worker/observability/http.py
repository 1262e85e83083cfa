"""Probes and metrics over HTTP, answered by the control loop within a moment."""

from collections.abc import Awaitable, Callable

from aiohttp import web

Checks = Callable[[], dict[str, str]]


class ProbeServer:
    def __init__(self, *, live: Checks, ready: Checks, metrics: Callable[[], bytes]) -> None:
        self._metrics = metrics
        app = web.Application(client_max_size=0)
        for path in ("/v1/health/live", "/livez"):
            app.router.add_get(path, _probe(live))
        for path in ("/v1/health/ready", "/readyz", "/healthz"):
            app.router.add_get(path, _probe(ready))
        for path in ("/v1/metrics", "/metrics"):
            app.router.add_get(path, self._show_metrics)
        self._runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=0.5)

    async def start(self, host: str, port: int) -> int:
        """Listen; the port in use, which matters when 0 was asked for. OSError when it is taken."""
        await self._runner.setup()
        site = web.TCPSite(self._runner, host, port)
        await site.start()
        return int(self._runner.addresses[0][1])

    async def stop(self) -> None:
        await self._runner.cleanup()

    async def _show_metrics(self, _: web.Request) -> web.Response:
        return web.Response(
            body=self._metrics(),
            headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"},
        )


def _probe(checks_of: Checks) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def answer(_: web.Request) -> web.Response:
        checks = checks_of()
        good = passed(checks)
        body = {"status": "OK" if good else "UNAVAILABLE", "checks": checks}
        return web.json_response(body, status=200 if good else 503)

    return answer


def passed(checks: dict[str, str]) -> bool:
    return all(value.startswith("ok") for value in checks.values())
