"""The watch over suspects, as its one row in PostgreSQL has it."""

from dataclasses import dataclass
from datetime import UTC, datetime

_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class SuspectWatch:
    owner: str = ""
    until: datetime = _LONG_AGO

    def is_held_by(self, watcher: str, now: datetime) -> bool:
        return self.owner == watcher and self.until > now

    def take(self, watcher: str, now: datetime, until: datetime) -> bool:
        """Whether nobody else had it."""
        is_free = self.owner == watcher or self.until <= now
        if is_free:
            self.owner, self.until = watcher, until
        return is_free

    def keep(self, watcher: str, until: datetime) -> bool:
        """Whether nobody has taken it."""
        is_ours = self.owner == watcher
        if is_ours:
            self.until = until
        return is_ours
