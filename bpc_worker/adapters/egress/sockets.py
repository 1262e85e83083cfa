"""The socket of one request: it goes to the addresses that were checked, and takes in so much and no more."""

import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from bpc_worker.core.public_address import Address

_PIECE = 16 * 1024  # read at a time, so that nobody runs far ahead of whoever asks for a pause


class TooMuchError(OSError):
    """The other end sent more than anybody wants to know."""


class GuardedSocket(socket.socket):
    """Every way to a connection and every byte that comes in passes here, whatever library is above."""

    check: Callable[[str], None]
    left: int

    def connect(self, address: Any, /) -> None:
        self.check(str(address[0]))
        super().connect(address)

    def connect_ex(self, address: Any, /) -> int:
        self.check(str(address[0]))
        return super().connect_ex(address)

    def recv(self, size: int, flags: int = 0, /) -> bytes:
        data = super().recv(min(size, _PIECE), flags)
        self._count(len(data))
        return data

    def recv_into(self, buffer: Any, size: int = 0, flags: int = 0, /) -> int:
        got = super().recv_into(buffer, min(size or len(buffer), _PIECE), flags)
        self._count(got)
        return got

    def _count(self, got: int) -> None:
        self.left -= got
        if self.left < 0:
            raise TooMuchError


class Sockets:
    """Makes the sockets of one request, and breaks what is left of them after it."""

    def __init__(self, check: Callable[[str], None], *, most_bytes: int) -> None:
        self._check = check
        self._most_bytes = most_bytes
        self._made: list[GuardedSocket] = []

    @property
    def overrun(self) -> bool:
        """Whether one of them had to stop reading."""
        return any(each.left < 0 for each in self._made)

    def make(self, info: tuple[Any, ...]) -> GuardedSocket:
        """As aiohttp asks for it, with an entry of getaddrinfo."""
        family, kind, protocol, _, place = info
        self._check(str(place[0]))
        made = GuardedSocket(family, kind, protocol)
        made.check = self._check
        made.left = self._most_bytes
        self._made.append(made)
        return made

    def break_off(self) -> None:
        """A transport that has something left to write would wait for a receiver that does not read."""
        for each in self._made:
            with suppress(OSError):  # it is closed already, as a rule
                each.shutdown(socket.SHUT_RDWR)


def only(checked: tuple[Address, ...], refuse: Callable[[str], Exception]) -> Callable[[str], None]:
    """A check that lets through the addresses in this list."""
    allowed = {str(address) for address in checked}

    def check(address: str) -> None:
        if address not in allowed:
            raise refuse(f"{address} was not checked")

    return check
