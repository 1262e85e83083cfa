"""From which expiry on the reaper looks at leases: what was empty at its last look is not read again."""

from datetime import datetime, timedelta

_SHARE = 100  # a look at everything gets so small a part of the time
_LONGEST = timedelta(minutes=2)


class LeaseBound:
    """While somebody holds a snapshot, every lease that has ever ended stays in its index.

    So a look begins one lease before the moment up to which the last one saw everything: a row that was
    locked then, or whose claim was committed late, has another lease to be found in. Whatever else there may
    be is looked for from the beginning: after every look while that is cheap, and now and then where it is
    not.
    """

    def __init__(self, lease_seconds: float) -> None:
        self._back = timedelta(seconds=lease_seconds)
        self._seen_until: datetime | None = None
        self._all_again_at: datetime | None = None

    def since(self, now: datetime) -> datetime:
        if self._seen_until is None or now < self._seen_until:  # the first look, or another server's clock
            self._seen_until, self._all_again_at = now, now
        return self._seen_until - self._back

    def saw_the_end(self, now: datetime) -> None:
        self._seen_until = now

    def all_is_due(self, now: datetime) -> bool:
        return self._all_again_at is None or now >= self._all_again_at

    def looked_at_all(self, now: datetime, *, seconds: float) -> None:
        self._all_again_at = now + min(_LONGEST, timedelta(seconds=_SHARE * seconds))
