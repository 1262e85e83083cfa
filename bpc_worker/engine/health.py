"""What the probes answer: from state last seen, never from a live query."""

from collections.abc import Callable
from dataclasses import dataclass, field

from bpc_worker.engine.clock import Clock, seconds_since_boot
from bpc_worker.jobs.errors import JobError, SchemaMismatch, Unavailable

_TICK_LIMIT = 30.0
_DATABASE_LIMIT = 15.0
_PASSED_OVER_SECONDS = 65.0  # a little longer than it is left alone
_DISTRUST_SECONDS = 5.0  # longer than the pause between two tries of a settle


@dataclass(slots=True)
class Health:
    require_queue: bool = False
    clock: Clock = seconds_since_boot
    lease_seconds: float = 60.0
    draining: bool = False
    schema: str = "unknown"  # "ok", or what is wrong with it
    broker_connected: bool = False
    started: bool = False
    control_ticked_at: float = field(init=False)
    database_ok_at: float | None = None
    database_down: str | None = "not asked yet"
    outage: bool = False  # seen, and not yet over
    recovered_at: float | None = None  # when the database came back after an outage
    mismatch_at: float | None = None  # when a statement of ours last did not fit the schema
    passed_over_at: float | None = None  # when a job last could not be taken

    def __post_init__(self) -> None:
        self.control_ticked_at = self.clock()

    def note_database(self, error: JobError | None) -> None:
        """Every duty that talks to the database tells how it went."""
        now = self.clock()
        if isinstance(error, SchemaMismatch):
            self.schema, self.mismatch_at = f"mismatch: {error.message}", now
            return
        if error is not None:
            if isinstance(error, Unavailable):  # any other error is an answer: a locked row is no outage
                self.database_down, self.outage = error.code, True
            return
        if self.outage:
            self.recovered_at, self.outage = now, False
        self.database_down = None
        self.database_ok_at = now

    def note_claim(self) -> None:
        """A claim went through, so the schema fits (again) if no other statement has just said otherwise."""
        self.note_database(None)
        if self.may_claim:
            self.schema = "ok"

    @property
    def may_claim(self) -> bool:
        """Not soon after a statement of ours did not fit: what is taken could perhaps not be settled."""
        return self.mismatch_at is None or self.clock() - self.mismatch_at >= _DISTRUST_SECONDS

    @property
    def reaping_is_fair(self) -> bool:
        """After an outage the holders get one lease to settle before anybody takes their jobs."""
        if self.outage:
            return False
        return self.recovered_at is None or self.clock() - self.recovered_at >= self.lease_seconds

    @property
    def database_quiet_for(self) -> float:
        return float("inf") if self.database_ok_at is None else self.clock() - self.database_ok_at

    def live(self, handlers_ticked_at: Callable[[], float], *, in_time: bool) -> dict[str, str]:
        """Checks by name; anything but "ok" is a failure."""
        now = self.clock()
        control = now - self.control_ticked_at <= _TICK_LIMIT
        handlers = now - handlers_ticked_at() <= _TICK_LIMIT or in_time
        return {
            "control_loop": "ok" if control else "stalled",
            "handler_loop": "ok" if handlers else "stalled",
        }

    def ready(self) -> dict[str, str]:
        checks = {
            "database": self._database(),
            "schema": self.schema,
            "draining": "stopping" if self.draining else "ok",
            "broker": "ok" if self.broker_connected else "disconnected",
            "jobs": self._jobs(),
        }
        if not self.require_queue and checks["broker"] != "ok":
            checks["broker"] = "ok (not required, disconnected)"
        return checks

    def _jobs(self) -> str:
        at = self.passed_over_at
        if at is None or self.clock() - at > _PASSED_OVER_SECONDS:
            return "ok"
        return "a job cannot be taken; the log names it (job_passed_over)"

    def _database(self) -> str:
        if self.database_down is not None:
            return self.database_down
        return "ok" if self.database_quiet_for <= _DATABASE_LIMIT else "silent"
