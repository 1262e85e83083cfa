"""One POST to somebody else's server: one deadline over all of it, and limits on what comes back."""

import asyncio
import socket
import ssl
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from bpc_worker import __version__
from bpc_worker.adapters.egress.lookups import Lookups
from bpc_worker.adapters.egress.sockets import Sockets, TooMuchError, only
from bpc_worker.adapters.egress.targets import EgressRules, Target, blocked, target_of
from bpc_worker.core.public_address import Address
from bpc_worker.handler_api import Answer, Code, Retryable

DEADLINE_SECONDS = 30.0
MOST_BODY = 64 * 1024
_MOST_HEADERS = 100
_LONGEST_LINE = 8 * 1024
_MOST_HEAD = 16 * 1024  # of the headers that are kept, all together
_MOST_BYTES = 1024 * 1024  # of all that comes in: handshake, heads, and a body as it is wrapped
_MOST_PLACES = 8  # addresses that are tried; all of them are checked

_REDIRECTS = frozenset({301, 302, 303, 307, 308})

_OURS = {
    "Accept-Encoding": "identity",  # nothing is unpacked here
    "User-Agent": f"bpc-worker/{__version__}",
}


class Poster:
    """Used from the handlers' loop alone. Nothing is shared between two requests but the trusted CAs."""

    def __init__(
        self,
        rules: EgressRules,
        *,
        ca_file: str | None = None,
        lookups: Lookups | None = None,
        deadline: float = DEADLINE_SECONDS,
    ) -> None:
        self._rules = rules
        self._ca_file = ca_file
        self._lookups = lookups or Lookups()
        self._deadline = deadline

    async def post(self, url: str, *, headers: Mapping[str, str], body: bytes) -> Answer:
        target = target_of(url, self._rules)
        try:
            async with asyncio.timeout(self._deadline):
                places = await self._places(target)
                return await self._ask(target, places, headers, body)
        except TimeoutError as error:
            message = f"{target.host}: no whole answer within {self._deadline:g} s"
            raise Retryable(Code.WEBHOOK_TIMEOUT, message) from error
        except (aiohttp.ClientError, OSError) as error:
            raise Retryable(Code.WEBHOOK_FAILED, f"{target.host}: {_words(error)}") from error

    async def _places(self, target: Target) -> tuple[Address, ...]:
        """Where to connect to: all that the name stands for at this moment, each of them checked."""
        if target.address is not None:
            found: tuple[Address, ...] = (target.address,)
        else:
            found = await self._lookups.addresses(target.host)
        self._rules.check(target.host, found)
        return found[:_MOST_PLACES]

    async def _ask(
        self, target: Target, places: tuple[Address, ...], headers: Mapping[str, str], body: bytes
    ) -> Answer:
        sockets = Sockets(only(places, blocked), most_bytes=_MOST_BYTES)
        connector = aiohttp.TCPConnector(
            resolver=_Known(places),
            socket_factory=sockets.make,
            ssl=self._trust,
            use_dns_cache=False,
            force_close=True,
        )
        session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
            trust_env=False,
            auto_decompress=False,
            max_headers=_MOST_HEADERS,
            max_line_size=_LONGEST_LINE,
            max_field_size=_LONGEST_LINE,
        )
        try:
            async with session:
                given = {**_OURS, **headers}
                async with session.post(
                    target.url, data=body, headers=given, allow_redirects=False
                ) as response:
                    if response.status in _REDIRECTS:
                        raise blocked(
                            f"{target.host} answers {response.status}, and redirects are not followed"
                        )
                    return await _kept(response)
        except aiohttp.ClientError as error:
            if sockets.overrun:
                raise TooMuchError from error
            raise
        finally:
            sockets.break_off()

    @cached_property
    def _trust(self) -> ssl.SSLContext:
        trust = ssl.create_default_context()
        if self._ca_file is not None:
            trust.load_verify_locations(cafile=self._ca_file)
        return trust


class _Known(AbstractResolver):
    """Answers with what was checked, whatever the name."""

    def __init__(self, places: tuple[Address, ...]) -> None:
        self._places = places

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        del family
        return [
            ResolveResult(
                hostname=host,
                host=str(place),
                port=port,
                family=socket.AF_INET if place.version == 4 else socket.AF_INET6,  # noqa: PLR2004
                proto=socket.IPPROTO_TCP,
                flags=socket.AI_NUMERICHOST,
            )
            for place in self._places
        ]

    async def close(self) -> None:
        """There is nothing to close."""


async def _kept(response: aiohttp.ClientResponse) -> Answer:
    """The first 64 KiB of the body; the rest is not read, the connection is dropped."""
    body = bytearray()
    while len(body) <= MOST_BODY:
        piece = await response.content.read(MOST_BODY + 1 - len(body))
        if not piece:
            break
        body += piece
    response.close()
    return Answer(
        status=response.status,
        headers=tuple(_fitting(response.raw_headers)),
        body=bytes(body[:MOST_BODY]),
        truncated=len(body) > MOST_BODY,
    )


def _fitting(raw: Iterable[tuple[bytes, bytes]]) -> Iterator[tuple[str, str]]:
    """In their order, as long as there is room."""
    room = _MOST_HEAD
    for name, value in raw:
        room -= len(name) + len(value)
        if room < 0:
            return
        yield _text(name), _text(value)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace").replace("\x00", "\ufffd")


def _words(error: BaseException) -> str:
    """What went wrong, in words of ours: the library's own may quote what the receiver sent."""
    match error:
        case aiohttp.ClientConnectorCertificateError() | aiohttp.ClientConnectorSSLError():
            return f"TLS failed: {_tls_reason(error)}"
        case aiohttp.ClientConnectorError():
            return f"no connection: {error.os_error.strerror or 'refused'}"
        case aiohttp.ServerDisconnectedError() | aiohttp.ClientPayloadError():
            return "the connection ended before the answer did"
        case aiohttp.ClientResponseError():
            return "the answer is not HTTP, or its head is too large"
        case TooMuchError():
            return "more came than an answer needs, and it was not at its end"
        case _:
            return f"the connection broke ({type(error).__name__})"


def _tls_reason(error: BaseException) -> str:
    inner = getattr(error, "certificate_error", None) or getattr(error, "os_error", None)
    return str(getattr(inner, "verify_message", None) or getattr(inner, "reason", None) or "no handshake")
