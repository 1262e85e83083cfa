"""The ways a job can go wrong, each with a stable code that an operator can search for."""

from collections.abc import Mapping
from enum import StrEnum


class Code(StrEnum):
    CONFIG_MISSING = "CONFIG_MISSING"
    NOT_FOUND = "NOT_FOUND"
    FORBIDDEN = "FORBIDDEN"
    VALIDATION_ERROR = "VALIDATION_ERROR"
    IDEMPOTENCY_CONFLICT = "IDEMPOTENCY_CONFLICT"
    EVENT_VERSION_CONFLICT = "EVENT_VERSION_CONFLICT"
    SNAPSHOT_SEALED = "SNAPSHOT_SEALED"
    SNAPSHOT_NOT_READY = "SNAPSHOT_NOT_READY"
    RULE_PKG_NOT_PUBLISHED = "RULE_PKG_NOT_PUBLISHED"
    RULE_TESTS_FAILED = "RULE_TESTS_FAILED"
    RULE_PARSE_ERROR = "RULE_PARSE_ERROR"
    RULE_TYPE_ERROR = "RULE_TYPE_ERROR"
    RULE_CYCLE_DETECTED = "RULE_CYCLE_DETECTED"
    RULE_LIMIT_EXCEEDED = "RULE_LIMIT_EXCEEDED"
    RULE_ASSERTION_FAILED = "RULE_ASSERTION_FAILED"
    DIVISION_BY_ZERO = "DIVISION_BY_ZERO"
    UNIT_MISMATCH = "UNIT_MISMATCH"
    PROOF_TOO_LARGE = "PROOF_TOO_LARGE"
    PAYLOAD_TOO_LARGE = "PAYLOAD_TOO_LARGE"
    RECEIPT_TOO_LARGE = "RECEIPT_TOO_LARGE"
    QR_CAPACITY = "QR_CAPACITY"
    SIGNING_KEY_MISSING = "SIGNING_KEY_MISSING"
    SIGNATURE_INVALID = "SIGNATURE_INVALID"
    RECEIPT_MISMATCH = "RECEIPT_MISMATCH"
    PASSPORT_INCOMPLETE = "PASSPORT_INCOMPLETE"
    REPLAY_MISMATCH = "REPLAY_MISMATCH"
    WEBHOOK_FAILED = "WEBHOOK_FAILED"
    WEBHOOK_TIMEOUT = "WEBHOOK_TIMEOUT"
    WEBHOOK_BLOCKED = "WEBHOOK_BLOCKED"
    WEBHOOK_GONE = "WEBHOOK_GONE"
    COMMAND_FAILED = "COMMAND_FAILED"
    COMMAND_TIMEOUT = "COMMAND_TIMEOUT"
    QUEUE_FULL = "QUEUE_FULL"
    RATE_LIMITED = "RATE_LIMITED"
    LEASE_EXPIRED = "LEASE_EXPIRED"
    QUEUE_UNAVAILABLE = "QUEUE_UNAVAILABLE"
    DB_UNAVAILABLE = "DB_UNAVAILABLE"
    HANDLER_TIMEOUT = "HANDLER_TIMEOUT"
    CHILD_DIED = "CHILD_DIED"
    INTERNAL_ERROR = "INTERNAL_ERROR"


class JobError(Exception):
    """An error with a code. Its message and detail are stored: never a secret, never a payload."""

    retryable: bool
    after_seconds = 0.0  # not sooner than that

    def __init__(self, code: str, message: str, *, detail: Mapping[str, object] | None = None) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.detail = detail

    @property
    def sqlstate(self) -> str | None:
        """What the database called it, where it was the database."""
        found = (self.detail or {}).get("sqlstate")
        return None if found is None else str(found)


class Retryable(JobError):  # noqa: N818 - the word handler authors raise
    """It might work later: after the backoff, and not before `after_seconds`."""

    retryable = True

    def __init__(
        self,
        code: str,
        message: str,
        *,
        detail: Mapping[str, object] | None = None,
        after_seconds: float = 0.0,
    ) -> None:
        super().__init__(code, message, detail=detail)
        self.after_seconds = after_seconds


class Permanent(JobError):  # noqa: N818 - the word handler authors raise
    """The same input can never work."""

    retryable = False


class Unavailable(Retryable):
    """The database or the broker was away: nobody's fault, so the attempt is given back."""


class TakesNoWrites(Unavailable):
    """It answers, and whoever only reads notices nothing: a standby, or set to read-only."""


class RunAgain(Retryable):
    """The transaction met another one; the same transaction can be run again at once."""

    def __init__(self, sqlstate: str, message: str) -> None:
        super().__init__(Code.DB_UNAVAILABLE, message, detail={"sqlstate": sqlstate})


class SchemaMismatch(Unavailable):
    """A statement of ours does not fit the database: stop claiming rather than fail every job."""

    def __init__(self, sqlstate: str, message: str) -> None:
        super().__init__(Code.DB_UNAVAILABLE, message, detail={"sqlstate": sqlstate})


class Snooze(JobError):  # noqa: N818 - the word handler authors raise
    """Not now: try again after `seconds`, without counting the attempt."""

    retryable = True

    def __init__(self, seconds: float, code: str, message: str) -> None:
        super().__init__(code, message)
        self.seconds = seconds


class LeaseLost(Exception):  # noqa: N818 - a fact, not a fault
    """The job is somebody else's by now. Nothing may be kept, and nothing is recorded."""
