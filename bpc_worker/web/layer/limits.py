"""How often somebody may ask: token buckets in this process, of so many callers at most."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

_MOST_KEYS = 20_000


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float


class Buckets:
    """Whoever has not asked for longest is forgotten first: a full bucket is what he would have anyway."""

    def __init__(
        self, per_second: float, burst: float, *, clock: Callable[[], float] = monotonic,
        most_keys: int = _MOST_KEYS,
    ) -> None:  # fmt: skip
        self._per_second = per_second
        self._burst = burst
        self._clock = clock
        self._most_keys = most_keys
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def wait(self, key: str, cost: float = 1.0) -> float:
        """Seconds until the next may be asked; 0: this one may, and is counted."""
        now = self._clock()
        bucket = self._buckets.get(key)
        if bucket is None:
            bucket = self._buckets[key] = _Bucket(self._burst, now)
            if len(self._buckets) > self._most_keys:
                self._buckets.popitem(last=False)
        else:
            self._buckets.move_to_end(key)
            bucket.tokens = min(self._burst, bucket.tokens + (now - bucket.at) * self._per_second)
            bucket.at = now
        if bucket.tokens < cost:
            return (cost - bucket.tokens) / self._per_second
        bucket.tokens -= cost
        return 0.0
