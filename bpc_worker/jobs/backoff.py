"""How long to wait before a job is tried again."""

import math
from dataclasses import dataclass

_LARGEST_EXPONENT = 30  # beyond any cap, and 60^30 is still a float
_SNOOZE_CAP_SECONDS = 900.0
_LONGEST_SNOOZE_SECONDS = 86_400.0
_LONGEST_WISH_SECONDS = 3600.0
JITTER = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    base: float = 2.0
    cap: float = 1024.0

    def after(self, attempts: int, *, dice: float) -> float:
        """Seconds after the given number of attempts; `dice` in [0, 1) adds up to 10 %, never less."""
        plain: float = min(self.cap, self.base ** min(attempts, _LARGEST_EXPONENT))
        return _in_milliseconds(plain * (1 + JITTER * dice))


def retry_delay(wanted: float, *, dice: float) -> float:
    """What somebody outside asks for, up to an hour; never sooner than that."""
    return min(max(wanted, 0.0), _LONGEST_WISH_SECONDS) * (1 + JITTER * dice)


def snooze_delay(wanted: float, snoozes: int, *, dice: float) -> float:
    """At least what was asked for, and growing from snooze to snooze up to 15 minutes."""
    grown = min(_SNOOZE_CAP_SECONDS, 2.0 ** min(snoozes, _LARGEST_EXPONENT))
    return _in_milliseconds(min(max(wanted, grown), _LONGEST_SNOOZE_SECONDS) * (1 + JITTER * dice))


def _in_milliseconds(seconds: float) -> float:
    """Never less, and no more digits than anybody reads."""
    return math.ceil(round(seconds * 1000, 6)) / 1000
