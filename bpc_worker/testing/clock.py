"""Time that stands still until somebody moves it."""

from datetime import UTC, datetime, timedelta

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)


class FakeClock:
    def __init__(self, now: datetime = NOON) -> None:
        self.now = now

    def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)
