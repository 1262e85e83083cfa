"""One POST to somebody else's server: one deadline over all of it, and limits on what comes back."""

import asyncio
import ssl
from collections.abc import Hashable, Mapping
from functools import cached_property
from typing import NamedTuple

import aiohttp

from bpc_worker import __version__
from bpc_worker.egress.dns import Lookups
from bpc_worker.egress.kept_connections import Line, Lines
from bpc_worker.egress.public_address import Address
from bpc_worker.egress.responses import ends_well, read_answer
from bpc_worker.egress.sockets import TooMuchError
from bpc_worker.egress.targets import EgressRules, Target, target_of
from bpc_worker.handler_api import Answer, Code, Retryable

DEADLINE_SECONDS = 30.0
_MOST_PLACES = 8  # addresses that are tried; all of them are checked

_OURS = {
    "Accept-Encoding": "identity",  # nothing is unpacked here
    "User-Agent": f"bpc-worker/{__version__}",
}


class _Request(NamedTuple):
    target: Target
    headers: Mapping[str, str]
    body: bytes
    owner: Hashable  # of the connection; None: nobody, it is not kept
    tenant: Hashable


class Poster:
    """Used from the handlers' loop alone. Two owners share nothing but the trusted CAs."""

    def __init__(
        self,
        rules: EgressRules,
        *,
        ca_file: str | None = None,
        lookups: Lookups | None = None,
        lines: Lines | None = None,
        deadline: float = DEADLINE_SECONDS,
    ) -> None:
        self._rules = rules
        self._ca_file = ca_file
        self._lookups = lookups or Lookups()
        self._lines = Lines() if lines is None else lines
        self._deadline = deadline

    async def post(
        self, url: str, *, headers: Mapping[str, str], body: bytes, kept_for: Hashable = None
    ) -> Answer:
        """`kept_for`: who may use the connection again, for the same origin, if it ends well.

        Of a pair the first is the tenant, who has a share of the lookups.
        """
        target = target_of(url, self._rules)
        owner = None if kept_for is None else (kept_for, target.url.origin())
        tenant = kept_for[0] if isinstance(kept_for, tuple) else kept_for
        try:
            async with asyncio.timeout(self._deadline):
                return await self._ask(_Request(target, {**_OURS, **headers}, body, owner, tenant))
        except TimeoutError as error:
            message = f"{target.host}: no whole answer within {self._deadline:g} s"
            raise Retryable(Code.WEBHOOK_TIMEOUT, message) from error
        except (aiohttp.ClientError, OSError) as error:
            raise Retryable(Code.WEBHOOK_FAILED, f"{target.host}: {_words(error)}") from error

    async def close(self) -> None:
        await self._lines.close()

    async def _ask(self, request: _Request) -> Answer:
        """Over a connection that rests, or over a new one; also when the receiver has just closed the former.

        He has not answered then, and knows a request that comes twice by its id.
        """
        line = None if request.owner is None else self._lines.take(request.owner)
        if line is not None:
            try:
                return await self._over(line, request)
            except (aiohttp.ClientError, OSError):
                if line.has_answered:
                    raise
        places = await self._places(request)
        return await self._over(Line(places, self._trust, now=self._lines.now), request)

    async def _places(self, request: _Request) -> tuple[Address, ...]:
        """Where to connect to: all that the name stands for at this moment, each of them checked."""
        target = request.target
        if target.address is not None:
            found: tuple[Address, ...] = (target.address,)
        else:
            found = await self._lookups.addresses(target.host, tenant=request.tenant)
        self._rules.check(target.host, found)
        return found[:_MOST_PLACES]

    async def _over(self, line: Line, request: _Request) -> Answer:
        keep = False
        try:
            async with line.session.post(
                request.target.url, data=request.body, headers=request.headers, allow_redirects=False
            ) as response:
                answer = await read_answer(response)
                keep = request.owner is not None and ends_well(response, answer)
                if not keep:
                    response.close()
                return answer
        except aiohttp.ClientError as error:
            if line.has_overrun:
                raise TooMuchError from error
            raise
        finally:
            if keep:
                self._lines.keep(request.owner, line)
            else:
                await line.close()

    @cached_property
    def _trust(self) -> ssl.SSLContext:
        trust = ssl.create_default_context()
        if self._ca_file is not None:
            trust.load_verify_locations(cafile=self._ca_file)
        return trust


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
