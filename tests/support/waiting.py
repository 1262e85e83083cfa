"""Wait for facts, not for time."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def until(fact: Callable[[], T], *, within: float, what: str = "", every: float = 0.02) -> T:
    """Wait for a fact (something truthy), not for a time; fails loudly when it does not come."""
    ends_at = time.monotonic() + within
    while True:
        seen = fact()
        if seen:
            return seen
        if time.monotonic() > ends_at:
            raise AssertionError(f"not within {within:g} s: {what or fact}; last seen: {seen!r}")
        time.sleep(every)
