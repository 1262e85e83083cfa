"""The sockets of a connection: they go to addresses that were checked, and take in so much and no more."""

import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from bpc_worker.egress.public_address import Address

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

    @property
    def is_silent(self) -> bool:
        """Open at both ends, and nothing to read."""
        try:
            super().recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def _count(self, got: int) -> None:
        self.left -= got
        if self.left < 0:
            raise TooMuchError


class Sockets:
    """Makes the sockets of one connection, before it first rests, and breaks what is left of them at last."""

    def __init__(self, check: Callable[[str], None], *, most_bytes: int) -> None:
        self._check = check
        self._most_bytes = most_bytes
        self._made: list[GuardedSocket] = []
        self._has_rested = False

    @property
    def overrun(self) -> bool:
        """Whether one of them had to stop reading."""
        return any(each.left < 0 for each in self._made)

    @property
    def received(self) -> int:
        """Bytes since the last rest."""
        return sum(self._most_bytes - each.left for each in self._made)

    @property
    def are_silent(self) -> bool:
        """Whether the one connection is open, and nothing has come since it rests: no byte, and no end."""
        return len(self._made) == 1 and not self.received and self._made[0].is_silent

    def make(self, info: tuple[Any, ...]) -> GuardedSocket:
        """As aiohttp asks for it, with an entry of getaddrinfo."""
        if self._has_rested:
            raise ConnectionResetError("the connection is gone, and another one needs another check")
        family, kind, protocol, _, place = info
        self._check(str(place[0]))
        made = GuardedSocket(family, kind, protocol)
        made.check = self._check
        made.left = self._most_bytes
        self._made.append(made)
        return made

    def mark_idle(self) -> None:
        self._has_rested = True
        self._made = [each for each in self._made if each.fileno() >= 0]
        for each in self._made:
            each.left = self._most_bytes

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
