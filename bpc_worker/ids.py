"""Fresh ids, jitter, and the time of this machine: the only place of the worker with dice and a clock."""

import random
import secrets
import time
from uuid import UUID, uuid4

_VERSION_7 = 0x7 << 76
_VARIANT = 0b10 << 62
_TICKS = 1 << 12  # in a millisecond
_SALT_BYTES = 16


class _Ticks:
    """The time in 4096ths of a millisecond, never the same twice: what is queued stays in its order."""

    def __init__(self) -> None:
        self._last = 0

    def next(self) -> int:
        self._last = max(time.time_ns() * _TICKS // 1_000_000, self._last + 1)
        return self._last


_ticks = _Ticks()
nonce = uuid4


def uuid7() -> UUID:
    """A time-ordered id (RFC 9562): milliseconds first, then parts of one, then chance."""
    milliseconds, parts = divmod(_ticks.next(), _TICKS)
    return UUID(int=milliseconds << 80 | _VERSION_7 | parts << 64 | _VARIANT | secrets.randbits(62))


def salt() -> bytes:
    """So that what is hashed with it cannot be guessed from the hash."""
    return secrets.token_bytes(_SALT_BYTES)


dice = random.random  # somewhere in [0, 1): spreads load, guards nothing


def spread(seconds: float, by: float) -> float:
    """`seconds`, up to `by` (a fraction) more or less."""
    return seconds * (1 + by * (2 * dice() - 1))


def unix_time() -> float:
    """Seconds since 1970."""
    return time.time()
