"""An https server that receives webhooks: it keeps what came and answers as a test says."""

import asyncio
import hashlib
import hmac
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

from aiohttp import web
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from bpc_worker.domain.events import Happened
from bpc_worker.pipeline.webhooks import Keys, add_endpoint
from tests.support.certificates import Authority
from tests.support.pipeline import Pipeline

_LARGEST = 4 * 1024 * 1024


@dataclass(frozen=True)
class Received:
    headers: Mapping[str, str]  # names in lower case
    body: bytes
    at: float

    @property
    def delivery_id(self) -> UUID:
        return UUID(self.headers["x-bpc-delivery-id"])


Answers = Callable[[Received], web.StreamResponse]


@dataclass
class Receiver:
    """`answers` may be exchanged while it runs."""

    url: str
    port: int
    settings: Mapping[str, str]  # with which a worker reaches it
    answers: Answers
    received: list[Received] = field(default_factory=list)

    async def receive(self, request: web.Request) -> web.StreamResponse:
        headers = {name.lower(): value for name, value in request.headers.items()}
        one = Received(headers, await request.read(), time.monotonic())
        self.received.append(one)
        return self.answers(one)


def ok(_: Received) -> web.StreamResponse:
    return web.Response(text="thank you")


def says(status: int, **headers: str) -> Answers:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _: web.Response(status=status, headers=named)


@contextmanager
def receiver(
    folder: Path, answers: Answers = ok, *, port: int = 0, authority: Authority | None = None
) -> Iterator[Receiver]:
    """On 127.0.0.1 with a certificate of an authority of its own; in a thread, until the block ends."""
    authority = authority or Authority(folder)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def start() -> tuple[web.AppRunner, Receiver]:
        made = Receiver("", 0, {}, answers)
        app = web.Application(client_max_size=_LARGEST)
        app.router.add_post("/hook", made.receive)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", port, ssl_context=authority.server("127.0.0.1"))
        await site.start()
        made.port = int(runner.addresses[0][1])
        made.url = f"https://127.0.0.1:{made.port}/hook"
        made.settings = reaching(made.port, authority)
        return runner, made

    runner, made = asyncio.run_coroutine_threadsafe(start(), loop).result(20)
    try:
        yield made
    finally:
        asyncio.run_coroutine_threadsafe(_hang_up(runner), loop).result(20)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(20)
        loop.close()


async def _hang_up(runner: web.AppRunner) -> None:
    """On everybody, also on those who keep their connection and would be waited for."""
    server = runner.server
    for connection in () if server is None else server.connections:
        if connection.transport is not None:
            connection.transport.abort()
    await runner.cleanup()
    for _ in range(5):  # transports close their sockets in one of the next rounds
        await asyncio.sleep(0)


def reaching(port: int, authority: Authority) -> dict[str, str]:
    """What a worker is told to reach a receiver on this machine."""
    return {
        "BPC_WEBHOOK_PORTS": str(port),
        "BPC_WEBHOOK_ALLOW_CIDRS": "127.0.0.0/8",
        "BPC_WEBHOOK_CA_FILE": str(authority.ca_file),
    }


def holds(received: Received, secret: str) -> bool:
    """As a receiver checks it: with the library of Standard Webhooks, and with six lines of its own."""
    try:
        Webhook(secret).verify(received.body, dict(received.headers))
    except WebhookVerificationError:
        return False
    return True


def six_lines(secret: str, body_bytes: bytes, signature_header: str) -> bool:
    expected = hmac.new(secret.encode(), body_bytes, hashlib.sha256).hexdigest()
    provided = signature_header.removeprefix("sha256=")
    return hmac.compare_digest(expected, provided)


def endpoint(
    path: Pipeline,
    url: str,
    settings: Mapping[str, str],
    *,
    max_attempts: int = 5,
    events: str = "PASSPORT_SIGNED",
) -> Keys:
    """Registered as the application does it; who asks for all events is told of the next endpoint too."""
    return path.call(
        lambda pipeline: add_endpoint(pipeline, url, event_types=(events,), max_attempts=max_attempts),
        **settings,
    )


def happen(path: Pipeline, *payloads: Mapping[str, object], event_type: str = "PASSPORT_SIGNED") -> None:
    """As many events, each of an aggregate of its own, in one transaction."""
    from uuid import uuid4

    async def work(pipeline) -> None:  # type: ignore[no-untyped-def]
        async with pipeline.transaction() as tx:
            for payload in payloads:
                happened = Happened(
                    event_type=event_type, aggregate_type="passport", aggregate_id=uuid4(), payload=payload
                )
                await pipeline.record(tx, happened)

    path.call(work)
