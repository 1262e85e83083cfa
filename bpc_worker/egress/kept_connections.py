"""Connections to receivers: made to checked addresses, for one request at a time, kept for one owner."""

import asyncio
import socket
import ssl
import time
from collections.abc import Callable, Hashable

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from bpc_worker.egress.public_address import Address
from bpc_worker.egress.sockets import Sockets, only
from bpc_worker.egress.targets import blocked

LONGEST_IDLE = 5.0  # seconds: shorter than most servers wait
LONGEST_LIFE = 60.0  # for so long, where a name has moved, its old address is called
MOST_IDLE = 64  # of all owners: each has a quarter of a megabyte for TLS
_MOST_IDLE_EACH = 10
_MOST_BYTES = 1024 * 1024  # that come in for one answer: handshake, heads, and a body as it is wrapped
_TLS_CLOSE_BYTES = 31  # bytes with which TLS ends a connection; no answer is that short
_MOST_HEADERS = 100
_LONGEST_LINE = 8 * 1024


class Line:
    """One connection, made by the first request and never again: later its addresses may be others."""

    def __init__(self, places: tuple[Address, ...], trust: ssl.SSLContext, *, now: float) -> None:
        self._sockets = Sockets(only(places, blocked), most_bytes=_MOST_BYTES)
        self._made_at = self.idle_since = now
        self.session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                resolver=_Known(places),
                socket_factory=self._sockets.make,
                ssl=trust,
                use_dns_cache=False,
                limit=1,
                keepalive_timeout=2 * LONGEST_IDLE,  # who rests for longer than one is not used any more
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
            trust_env=False,
            auto_decompress=False,
            max_headers=_MOST_HEADERS,
            max_line_size=_LONGEST_LINE,
            max_field_size=_LONGEST_LINE,
        )

    @property
    def has_overrun(self) -> bool:
        return self._sockets.overrun

    @property
    def has_answered(self) -> bool:
        """Whether anything came over it since it rested."""
        return self._sockets.received > _TLS_CLOSE_BYTES

    def mark_idle(self, now: float) -> None:
        """Until the next request, for which the bytes are counted anew."""
        self.idle_since = now
        self._sockets.mark_idle()

    def is_good(self, now: float) -> bool:
        """Young enough, and silent since it rests: what comes unasked is the answer to nothing."""
        young = now - self._made_at < LONGEST_LIFE and now - self.idle_since < LONGEST_IDLE
        return young and self._sockets.are_silent

    async def close(self) -> None:
        try:
            await self.session.close()
        finally:
            self._sockets.break_off()


class Lines:
    """Those that rest, each for its owner; the latest is the last. Used from the handlers' loop alone."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._resting: list[tuple[Hashable, Line]] = []
        self._closing: set[asyncio.Task[None]] = set()
        self._sweeping: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._resting)

    @property
    def now(self) -> float:
        return self._clock()

    def take(self, owner: Hashable) -> Line | None:
        """The one that has rested the shortest, if it is still good."""
        now = self._clock()
        for number in range(len(self._resting) - 1, -1, -1):
            if self._resting[number][0] == owner:
                _, line = self._resting.pop(number)
                if line.is_good(now):
                    return line
                self._drop(line)
        return None

    def keep(self, owner: Hashable, line: Line) -> None:
        line.mark_idle(self._clock())
        of_owner = [each for each in self._resting if each[0] == owner]
        self._resting.append((owner, line))
        if len(of_owner) >= _MOST_IDLE_EACH:
            self._let_go(of_owner[0])
        elif len(self._resting) > MOST_IDLE:
            self._let_go(self._resting[0])
        if self._sweeping is None:
            self._sweep_after(LONGEST_IDLE)

    async def close(self) -> None:
        if self._sweeping is not None:
            self._sweeping.cancel()
            self._sweeping = None
        while self._resting:
            self._let_go(self._resting[0])
        if self._closing:
            await asyncio.wait(self._closing)

    def _let_go(self, resting: tuple[Hashable, Line]) -> None:
        self._resting.remove(resting)
        self._drop(resting[1])

    def _drop(self, line: Line) -> None:
        closing = asyncio.get_running_loop().create_task(line.close())
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    def _sweep_after(self, seconds: float) -> None:
        self._sweeping = asyncio.get_running_loop().call_later(seconds, self._sweep)

    def _sweep(self) -> None:
        self._sweeping = None
        now = self._clock()
        while self._resting and now - self._resting[0][1].idle_since >= LONGEST_IDLE:
            self._let_go(self._resting[0])
        if self._resting:
            self._sweep_after(self._resting[0][1].idle_since + LONGEST_IDLE - now)


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
