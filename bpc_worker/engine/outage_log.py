"""One voice for a database that is away: all duties notice it, and one line a minute is enough."""

from typing import Protocol

from bpc_worker.engine.clock import Clock
from bpc_worker.jobs.errors import JobError, SchemaMismatch, Unavailable
from bpc_worker.observability import log

_log = log.get("engine")
_REMIND_SECONDS = 60.0


class Says(Protocol):
    def debug(self, event: str, **fields: object) -> object: ...

    def warning(self, event: str, **fields: object) -> object: ...


def is_away(error: BaseException) -> bool:
    """The database could not be asked; else it has answered, and does not want."""
    return isinstance(error, Unavailable) and not isinstance(error, SchemaMismatch)


def warn(voice: Says, event: str, error: JobError, **fields: object) -> None:
    """Of a duty that failed. Whoever has to wait for a database that is away says so at level debug."""
    say = voice.debug if is_away(error) else voice.warning
    say(event, error_code=error.code, error_message=error.message, **fields)


class OutageLog:
    """A line when the database goes, one a minute while it is away, and one when it is back."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._gone_at: float | None = None
        self._said_at = 0.0

    def note(self, trouble: str | None) -> None:
        """What is wrong with it at this moment; None: nothing."""
        now = self._clock()
        if trouble is None:
            if self._gone_at is not None:
                _log.warning("database_back", duration_ms=round((now - self._gone_at) * 1000))
            self._gone_at = None
            return
        if self._gone_at is None:
            self._gone_at = now
        elif now - self._said_at < _REMIND_SECONDS:
            return
        self._said_at = now
        _log.warning(
            "database_unreachable", error_message=trouble, duration_ms=round((now - self._gone_at) * 1000)
        )
