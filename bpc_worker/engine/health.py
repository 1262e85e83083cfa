"""What the probes answer: from state last seen, never from a live query."""

from collections.abc import Callable
from dataclasses import dataclass, field

from bpc_worker.engine.clock import Clock, seconds_since_boot
from bpc_worker.engine.outages import EVER, Outages
from bpc_worker.jobs.errors import JobError, Permanent, RunAgain, SchemaMismatch, TakesNoWrites, Unavailable

_TICK_LIMIT = 30.0
_DATABASE_LIMIT = 15.0
_PASSED_OVER_SECONDS = 65.0  # a little longer than it is left alone
_CLAIM_LIMIT = 30.0
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
    trouble: str | None = None  # the same in words
    outage: bool = False  # seen, and not yet over
    outages: Outages = field(init=False)  # that are over
    mismatch_at: float | None = None  # when a statement of ours last did not fit the schema
    passed_over_at: float | None = None  # when a job last could not be taken
    not_written: str | None = None  # why the last sign of life was not, or somebody's row since then
    claim_wanted_at: float | None = None  # since when there is room, and no claim was answered

    def __post_init__(self) -> None:
        self.control_ticked_at = self.clock()
        self.outages = Outages(self.lease_seconds)

    def note_database(self, error: JobError | None) -> None:
        """Every duty that talks to the database tells how it went."""
        now = self.clock()
        if isinstance(error, SchemaMismatch):
            self.schema, self.mismatch_at = f"mismatch: {error.message}", now
            return
        if error is not None:
            if isinstance(error, Unavailable):  # any other error is an answer: a locked row is no outage
                self.database_down, self.trouble, self.outage = error.code, error.message, True
            if isinstance(error, TakesNoWrites):  # no answer to a question says otherwise, but the next pulse
                self.not_written = error.message
            return
        if self.outage:
            self.outages.add(began=self._last_answer, ended=now)
            self.outage = False
        self.database_down = self.trouble = None
        self.database_ok_at = now

    def note_holder(self, error: JobError | None) -> None:
        """Of a renewal or a settle. Whoever holds jobs and is refused, for whatever reason that may pass, can
        neither keep nor end them: to him it is an outage, and nobody reaps what he has in his hands.
        """
        self.note_database(error)
        if error is not None and not isinstance(error, Permanent | RunAgain):
            self.outage = True

    def note_pulse(self, error: JobError | None) -> None:
        """Of a sign of life, which is written: others may only have asked."""
        if isinstance(error, RunAgain | SchemaMismatch):
            self.not_written = None  # somebody has locked the row, or lets us write none: no job needs it
            return
        self.note_database(error)
        self.not_written = None if error is None else error.message

    def want_claim(self, *, room: bool) -> None:
        """Somebody is about to claim, if there is room."""
        if not room:
            self.claim_wanted_at = None
        elif self.claim_wanted_at is None:
            self.claim_wanted_at = self.clock()

    def note_claim(self) -> None:
        """A claim went through, so the schema fits (again) if no other statement has just said otherwise."""
        self.claim_wanted_at = None
        self.note_database(None)
        if self.may_claim:
            self.schema = "ok"

    @property
    def may_claim(self) -> bool:
        """Not soon after a statement of ours did not fit: what is taken could perhaps not be settled."""
        return self.mismatch_at is None or self.clock() - self.mismatch_at >= _DISTRUST_SECONDS

    @property
    def spared_seconds(self) -> float:
        """Leases that ended less than so long ago are not reaped yet: after an outage in which they may have
        ended, their holders get one lease to settle.
        """
        now = self.clock()
        first = self.outages.first_began(now)
        return min(now - (min(first, self._last_answer) if self.outage else first), EVER)

    @property
    def _last_answer(self) -> float:
        return -float("inf") if self.database_ok_at is None else self.database_ok_at

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
            "claims": self._claims(),
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

    @property
    def database_trouble(self) -> str | None:
        """Why nothing can be asked or written at the moment."""
        return self.trouble or self.not_written

    def _claims(self) -> str:
        if self.draining or self.claim_wanted_at is None:
            return "ok"
        seconds = self.clock() - self.claim_wanted_at
        return "ok" if seconds < _CLAIM_LIMIT else f"no claim was answered for {seconds:.0f} s"

    def _database(self) -> str:
        if self.database_down is not None:
            return self.database_down
        if self.not_written is not None:
            return f"not written: {self.not_written}"
        return "ok" if self.database_quiet_for <= _DATABASE_LIMIT else "silent"
