"""A door of its own for tests of the layer, on a real listener: routes that do one thing each."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from time import monotonic

import msgspec

from bpc_worker.jobs.errors import Code, Permanent, Unavailable
from bpc_worker.observability.listener import ListenerLimits, Listening
from bpc_worker.web.layer.answers import Answer, Data, Empty, Page, Raw, SeeOther, Stream
from bpc_worker.web.layer.handling import Handling, Rules
from bpc_worker.web.layer.limits import Buckets
from bpc_worker.web.layer.problems import Problem
from bpc_worker.web.layer.proxies import Proxies
from bpc_worker.web.layer.request import Request
from bpc_worker.web.layer.routes import OPEN, Door, Lock, Route, needs
from bpc_worker.web.layer.streams import Streams
from bpc_worker.web.locks.credentials import session_hash
from bpc_worker.web.locks.identity import Identity, Kind
from bpc_worker.web.locks.lock import ProxyRules

LARGE = bytes(range(256)) * 4096  # 1 MiB
SESSION = Identity("token:jane", Kind.SESSION, scopes=frozenset({"read", "write"}))


class Wanted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    limit: int = 10
    state: list[str] = []


class Sent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    count: int = 1


@dataclass
class Tokens:
    has_ended: bool = False  # Jane's session

    async def by_token(self, token_hash: bytes) -> Identity | None:
        del token_hash
        return None

    async def by_session(self, hashed: bytes) -> Identity | None:
        return SESSION if hashed == session_hash("jane") and not self.has_ended else None


@dataclass
class Meter:
    seen: list[tuple[str, str, int]] = field(default_factory=list)

    def answered(self, door: str, route: str, status: int, seconds: float) -> None:
        assert seconds >= 0
        self.seen.append((door, route, status))


async def _echo(request: Request) -> Answer:
    return Data(
        {
            "args": dict(request.path_args),
            "query": None if request.query is None else msgspec.to_builtins(request.query),
            "body": None if request.body is None else msgspec.to_builtins(request.body),
            "base": request.origin.base,
            "address": request.address,
            "who": request.identity.name,
            "csrf": request.csrf,
        }
    )


async def _html(_: Request) -> Answer:
    problem = Problem(type="t", title="<script>alert(1)</script>", status=200, detail="d", code="C")
    return Page("base/error.html", problem)


async def _large(_: Request) -> Answer:
    return Raw(LARGE, "application/octet-stream", cache="public, max-age=60")


async def _bug(_: Request) -> Answer:
    raise RuntimeError("the secret is hunter2")


async def _away(_: Request) -> Answer:
    raise Unavailable(Code.DB_UNAVAILABLE, "no database: db.internal")


async def _full(_: Request) -> Answer:
    raise Permanent(Code.QUEUE_FULL, "there are 9 queued jobs")


async def _moved(_: Request) -> Answer:
    return SeeOther("/elsewhere")


async def _empty(_: Request) -> Answer:
    return Empty()


async def _live(_: Request) -> Answer:
    async def events() -> AsyncIterator[bytes | None]:
        yield b"data: 1\n\n"
        while True:
            yield None
            await asyncio.sleep(0.05)

    return Stream(events())


CHANGES = Lock("write", changes=True)
ROUTES = (
    Route("GET", "/echo/{id}", _echo, OPEN, query=Wanted),
    Route("POST", "/echo/{id}", _echo, OPEN, body=Sent, most_bytes=1000),
    Route("GET", "/mine", _echo, needs("read")),
    Route("GET", "/forbidden", _echo, needs("scale")),
    Route("POST", "/change", _echo, CHANGES, body=Sent),
    Route("GET", "/html", _html, OPEN),
    Route("GET", "/large", _large, OPEN),
    Route("GET", "/bug", _bug, OPEN),
    Route("GET", "/away", _away, OPEN),
    Route("GET", "/full", _full, OPEN),
    Route("GET", "/moved", _moved, OPEN),
    Route("GET", "/empty", _empty, OPEN),
    Route("GET", "/live", _live, OPEN),
    Route("GET", "/live/mine", _live, needs("read")),
)
DOOR = Door(name="test", routes=ROUTES)
LIMITS = ListenerLimits(connections=50, head_seconds=20, kept_seconds=20, send_seconds=20)


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, object]:
        found = json.loads(self.body)
        assert isinstance(found, dict)
        return found


@dataclass
class Opened:
    port: int
    meter: Meter
    streams: Streams
    listening: Listening
    tokens: Tokens

    async def ask(self, line: str, *headers: str, body: bytes = b"") -> Reply:
        """`line` without its version: GET /echo/1."""
        length = [f"Content-Length: {len(body)}"] if body else []
        host = [] if any(each.lower().startswith("host:") for each in headers) else ["Host: test.example"]
        return await self.say(
            "\r\n".join([f"{line} HTTP/1.1", *host, *length, *headers, "Connection: close", "", ""]).encode()
            + body,
            is_head=line.startswith("HEAD "),
        )

    async def say(self, sent: bytes, *, is_head: bool = False) -> Reply:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(sent)
            return await read_reply(reader, is_head=is_head)
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()


async def read_reply(reader: asyncio.StreamReader, *, is_head: bool = False) -> Reply:
    async with asyncio.timeout(20):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        status, *lines = head.strip().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (each.partition(":") for each in lines)}
        length = 0 if is_head else int(headers.get("content-length", 0))
        return Reply(int(status.split()[1]), headers, await reader.readexactly(length))


@asynccontextmanager
async def opened(
    door: Door = DOOR, *, limits: ListenerLimits = LIMITS, trusted: tuple[str, ...] = (),
    base_path: str = "", burst: float = 1000.0, body_seconds: float = 20.0,
    clock: Callable[[], float] = monotonic,
) -> AsyncIterator[Opened]:  # fmt: skip
    meter, tokens, streams = Meter(), Tokens(), Streams(clock)
    rules = Rules(
        proxies=Proxies(trusted, base_path),
        proxy_rules=ProxyRules(identity_header="X-User", groups={"ops": ("read", "write")}),
        tokens=tokens,
        per_address=Buckets(1.0, burst),
        per_name=Buckets(1.0, burst),
        meter=meter,
        streams=streams,
        body_seconds=body_seconds,
    )
    listening = Listening(Handling([door], rules).handle, limits)
    try:
        yield Opened(await listening.start("127.0.0.1", 0), meter, streams, listening, tokens)
    finally:
        streams.end()
        await listening.stop()


PAGES = replace(DOOR, pages=True, sign_in="/echo/sign-in")
