"""The two shares of claims that are not by priority and age: round the tenants, and the oldest."""

_RING_EVERY = 4  # jobs
_FEWEST_AT_ONCE = 8  # or all of a smaller claim: to go round has its cost, however few jobs it brings
_OLDEST_EVERY = 8  # claims


class Turns:
    """Of every four jobs one goes round the tenants; every eighth claim begins with the oldest due job."""

    def __init__(self) -> None:
        self._claims = 0
        self._owed = 0  # jobs of which none went round
        self._share = 0

    def next(self, limit: int) -> tuple[int, bool]:
        """Of a claim of so many: how many go round the tenants, and whether it begins with the oldest."""
        self._claims += 1
        share = min((self._owed + limit) // _RING_EVERY, limit)
        self._share = share if share >= min(limit, _FEWEST_AT_ONCE) else 0
        return self._share, self._claims % _OLDEST_EVERY == 1

    def record(self, claimed: int) -> None:
        """So many it took. Who took fewer than was asked for has taken all there is, and owes nothing."""
        self._owed = max(0, self._owed + claimed - _RING_EVERY * self._share)
