"""The two shares of claims that are not by priority and age: round the tenants, and the oldest."""

_RING_EVERY = 4  # jobs
_OLDEST_EVERY = 8  # claims


class Turns:
    """Of every four jobs one goes round the tenants; every eighth claim begins with the oldest due job."""

    def __init__(self) -> None:
        self._claims = 0
        self._owed = 0  # jobs since the last one that went round

    def next(self, limit: int) -> tuple[int, bool]:
        """Of a claim of so many: how many go round the tenants, and whether it begins with the oldest."""
        self._claims += 1
        return (self._owed + limit) // _RING_EVERY, self._claims % _OLDEST_EVERY == 1

    def record(self, claimed: int, of_ring: int) -> None:
        """Who took less than was asked for has taken all there is: nobody is owed anything then."""
        self._owed = min(max(0, self._owed + claimed - _RING_EVERY * of_ring), _RING_EVERY - 1)
