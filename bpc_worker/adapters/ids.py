"""Dice: fresh ids and jitter. The only place of the worker that throws them."""

import random
import secrets
import time
from uuid import UUID, uuid4

_VERSION_7 = 0x7 << 76
_VARIANT = 0b10 << 62


def uuid7() -> UUID:
    """A time-ordered id (RFC 9562): milliseconds first, then chance."""
    milliseconds = time.time_ns() // 1_000_000
    high = secrets.randbits(12) << 64
    return UUID(int=milliseconds << 80 | _VERSION_7 | high | _VARIANT | secrets.randbits(62))


def nonce() -> UUID:
    return uuid4()


def dice() -> float:
    """Somewhere in [0, 1)."""
    return random.random()  # noqa: S311 - spreads load, guards nothing


def spread(seconds: float, by: float) -> float:
    """`seconds`, up to `by` (a fraction) more or less."""
    return seconds * (1 + by * (2 * dice() - 1))
