"""Every address that this process tries to connect to, as the interpreter itself tells it."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

_watching: list[list[str]] = []
_hooked = False


@contextmanager
def connects() -> Iterator[list[str]]:
    """The addresses tried inside the block, in order."""
    global _hooked  # noqa: PLW0603 - a hook stays for the life of the process
    if not _hooked:
        sys.addaudithook(_heard)
        _hooked = True
    seen: list[str] = []
    _watching.append(seen)
    try:
        yield seen
    finally:
        _watching.remove(seen)


def _heard(event: str, arguments: tuple[object, ...]) -> None:
    if _watching and event in {"socket.connect", "socket.sendto", "socket.sendmsg"}:
        address = arguments[1]
        for seen in _watching:
            seen.append(str(address[0]) if isinstance(address, tuple) else str(address))
