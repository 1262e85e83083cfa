"""Names to addresses, without waiting for a name server longer than it deserves.

The C library's lookup cannot be stopped. Each has a thread of its own, which nobody waits for in the end: a
lookup that hangs holds up neither another one nor the end of the process. A name that is already being looked
up is not looked up once more, so one silent name server costs one thread a name, and there is a limit, of
which a tenant has an eighth.
"""

import asyncio
import socket
import threading
from collections import Counter
from collections.abc import Callable, Hashable
from contextlib import suppress
from ipaddress import ip_address

from bpc_worker.egress.public_address import Address
from bpc_worker.handler_api import Code, Retryable

Resolve = Callable[[str], tuple[Address, ...]]
_Found = tuple[Address, ...] | None
_SHARE = 8  # tenants whose names all hang, before the others notice


def ask_the_system(host: str) -> tuple[Address, ...]:
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(ip_address(str(place[0])) for *_, place in found))


class Lookups:
    def __init__(self, resolve: Resolve = ask_the_system, *, seconds: float = 5.0, most: int = 256) -> None:
        self._resolve = resolve
        self._seconds = seconds
        self._most = most
        self._under_way: dict[str, asyncio.Future[_Found]] = {}
        self._by_tenant: Counter[Hashable] = Counter()

    @property
    def under_way(self) -> int:
        return len(self._under_way)

    async def addresses(self, host: str, *, tenant: Hashable = None) -> tuple[Address, ...]:
        lookup = self._under_way.get(host) or self._begin(host, tenant)
        try:
            async with asyncio.timeout(self._seconds):
                found = await asyncio.shield(lookup)
        except TimeoutError as error:
            raise Retryable(Code.WEBHOOK_TIMEOUT, f"{host}: no address within {self._seconds:g} s") from error
        if not found:
            raise Retryable(Code.WEBHOOK_FAILED, f"{host}: the name has no address")
        return found

    def _begin(self, host: str, tenant: Hashable) -> "asyncio.Future[_Found]":
        share = self._most if tenant is None else max(1, self._most // _SHARE)
        if len(self._under_way) >= self._most or self._by_tenant[tenant] >= share:
            raise Retryable(Code.WEBHOOK_TIMEOUT, "too many names are waiting for their name servers")
        loop = asyncio.get_running_loop()
        lookup: asyncio.Future[_Found] = loop.create_future()

        def tell(found: _Found) -> None:
            del self._under_way[host]
            self._by_tenant -= Counter([tenant])  # who has none left is forgotten
            lookup.set_result(found)

        def look_up() -> None:
            found: _Found = None
            try:
                with suppress(OSError, ValueError):  # ValueError: what came is no address
                    found = self._resolve(host)
            finally:
                with suppress(RuntimeError):  # the loop is closed: the process is leaving
                    loop.call_soon_threadsafe(tell, found)

        threading.Thread(target=look_up, name="lookup", daemon=True).start()
        self._under_way[host] = lookup
        self._by_tenant[tenant] += 1
        return lookup
