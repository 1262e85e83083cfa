"""What goes wrong, as RFC 9457 has it: with our code, and what to do next."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

import msgspec

from bpc_worker.jobs.errors import Code, JobError, SchemaMismatch, Unavailable
from bpc_worker.jobs.explanations import EXPLANATIONS

MEDIA_TYPE: Final = "application/problem+json"

_STATUS: Final[Mapping[str, int]] = {
    Code.NOT_FOUND: 404,
    Code.FORBIDDEN: 403,
    Code.VALIDATION_ERROR: 400,
    Code.IDEMPOTENCY_CONFLICT: 409,
    Code.EVENT_VERSION_CONFLICT: 409,
    Code.PAYLOAD_TOO_LARGE: 413,
    Code.QUEUE_FULL: 429,
    Code.RATE_LIMITED: 429,
    Code.DB_UNAVAILABLE: 503,
    Code.QUEUE_UNAVAILABLE: 503,
    Code.INTERNAL_ERROR: 500,
    Code.CONFIG_MISSING: 503,
    Code.HANDLER_TIMEOUT: 503,
}
# What is about jobs elsewhere is about an answer here: the words for it, and what to do.
_WORDS: Final[Mapping[str, tuple[str, str]]] = {
    Code.NOT_FOUND: ("There is nothing of that kind here.", "compare the address and the ids in it"),
    Code.FORBIDDEN: ("This is not allowed.", "`bpc-worker token list` tells what a token may do"),
    Code.VALIDATION_ERROR: ("The request is not as it should be.", "correct what `detail` names"),
    Code.PAYLOAD_TOO_LARGE: ("The request is too large.", "send less at a time"),
    Code.RATE_LIMITED: ("Too many requests in a short time.", "wait as long as Retry-After says"),
    Code.QUEUE_FULL: ("There are as many queued jobs as are allowed.", "try again as Retry-After says"),
    Code.DB_UNAVAILABLE: ("The database is away.", "try again as Retry-After says"),
    Code.INTERNAL_ERROR: (
        "Something went wrong here.",
        "try again; the log of `bpc-worker serve` has the cause",
    ),
}
_INSUFFICIENT_PRIVILEGE = "42501"  # as a role, or under a tenant, that may not do it
_OTHERS = 409  # what is asked does not go with what is there
_RETRY_AFTER: Final[Mapping[int, int]] = {429: 5, 503: 5}


class Problem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`title` goes with the code, `detail` with this case."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    next: str | None = None


class Refused(Exception):  # noqa: N818 - it is an answer
    """A problem that no error of a job has: of HTTP itself, or with a status of its own."""

    def __init__(
        self, status: int, code: str, detail: str, *, next_: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.next = next_
        self.headers = headers or {}


def problem_of(error: JobError | Refused) -> tuple[Problem, dict[str, str]]:
    """And its headers."""
    if isinstance(error, Refused):
        return _problem(error.status, error.code, error.detail, error.next), {
            **_waiting(error.status, 0.0),
            **error.headers,
        }
    if error.sqlstate == _INSUFFICIENT_PRIVILEGE:
        return _problem(403, Code.FORBIDDEN, "the database does not allow this to whoever asks"), {}
    if isinstance(error, Unavailable):
        status = 503
        detail = "the database does not answer at the moment"
        if isinstance(error, SchemaMismatch):
            detail = "the database does not know what this needs; its operator finds why in the log"
        return _problem(status, error.code, detail), _waiting(status, error.after_seconds)
    status = _STATUS.get(error.code, _OTHERS)
    detail = "something went wrong here" if status == HTTPStatus.INTERNAL_SERVER_ERROR else error.message
    return _problem(status, error.code, detail), _waiting(status, error.after_seconds)


def _waiting(status: int, seconds: float) -> dict[str, str]:
    if status not in _RETRY_AFTER:
        return {}
    return {"Retry-After": str(max(_RETRY_AFTER[status], round(seconds)))}


def _problem(status: int, code: str, detail: str, next_: str | None = None) -> Problem:
    words = _WORDS.get(code)
    if words is None and code in Code.__members__:
        explained = EXPLANATIONS[Code(code)]
        words = explained.meaning, explained.actions[0]
    title, usual = words or (HTTPStatus(status).phrase, None)
    return Problem(
        type=f"urn:bpc:problem:{code.lower()}",
        title=title,
        status=status,
        detail=detail,
        code=code,
        next=next_ or usual,
    )
