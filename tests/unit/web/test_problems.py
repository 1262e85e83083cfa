"""Errors as RFC 9457 has them."""

import pytest

from bpc_worker.jobs.errors import Code, JobError, Permanent, Retryable, SchemaMismatch, Unavailable
from bpc_worker.web.layer.problems import Refused, problem_of


@pytest.mark.parametrize("code", list(Code))
def test_every_code_has_a_status_a_title_and_a_next_step(code: Code) -> None:
    problem, _ = problem_of(Permanent(code, "what happened"))

    assert 400 <= problem.status <= 503
    assert problem.title
    assert problem.next
    assert problem.type == f"urn:bpc:problem:{code.value.lower()}"


@pytest.mark.parametrize(
    ("error", "status", "waits"),
    [
        (Permanent(Code.QUEUE_FULL, "full"), 429, True),
        (Retryable(Code.RATE_LIMITED, "slow down", after_seconds=42), 429, True),
        (Unavailable(Code.DB_UNAVAILABLE, "no database: host db.internal"), 503, True),
        (SchemaMismatch("42P01", "relation does not exist"), 503, True),
        (SchemaMismatch("42501", "permission denied for function"), 403, False),
        (Permanent(Code.NOT_FOUND, "there is no such passport"), 404, False),
        (Permanent(Code.FORBIDDEN, "no"), 403, False),
        (Permanent(Code.VALIDATION_ERROR, "no"), 400, False),
        (Permanent(Code.PASSPORT_INCOMPLETE, "no"), 409, False),
        (Permanent("A_CODE_OF_SOMEBODY", "no"), 409, False),
        (Refused(401, "UNAUTHENTICATED", "no"), 401, False),
    ],
)
def test_a_status_and_when_to_come_again(error: JobError | Refused, status: int, *, waits: bool) -> None:
    problem, headers = problem_of(error)

    assert problem.status == status
    assert ("Retry-After" in headers) is waits


def test_as_long_as_the_error_says() -> None:
    assert problem_of(Retryable(Code.RATE_LIMITED, "", after_seconds=42))[1] == {"Retry-After": "42"}


@pytest.mark.parametrize(
    "error",
    [
        Unavailable(Code.DB_UNAVAILABLE, "no database: secret-host"),
        SchemaMismatch("42501", "permission denied for table secret-host"),
        Permanent(Code.INTERNAL_ERROR, "secret-host"),
    ],
)
def test_what_is_inside_stays_inside(error: JobError) -> None:
    assert "secret-host" not in str(problem_of(error))
