"""Rules are VALIDATED by a run of their tests that passed, and by nothing else, whoever writes the status."""

import pytest
from psycopg import errors

from bpc_worker.core.rules.testing import PUBLISHABLE_CASES
from tests.integration.test_immutability import session
from tests.support.database import Database
from tests.support.domain import draft_of_rules, run_of_tests

VALIDATE = "UPDATE rule_package_versions SET status = 'VALIDATED' WHERE rule_package_version_id = %s"


@pytest.mark.parametrize("role", ["bpc_app", "bpc_worker", None])
@pytest.mark.parametrize(
    "run", [None, {"passed": False}, {"cases": PUBLISHABLE_CASES - 1}], ids=["none", "failed", "too few"]
)
def test_a_draft_without_enough_tests_that_passed_stays_a_draft(
    db: Database, role: str | None, run: dict[str, object] | None
) -> None:
    version = draft_of_rules(db)
    other = draft_of_rules(db, "other")
    run_of_tests(db, other)
    if run is not None:
        run_of_tests(db, version, **run)  # type: ignore[arg-type]  # columns of a run
    with (
        session(db, role, db.tenant()) as connection,
        pytest.raises(errors.RestrictViolation, match=f"{PUBLISHABLE_CASES} cases"),
    ):
        connection.execute(VALIDATE.encode(), [version])


@pytest.mark.parametrize("role", ["bpc_app", "bpc_worker"])
def test_a_draft_whose_tests_passed_is_validated(db: Database, role: str) -> None:
    version = draft_of_rules(db)
    run_of_tests(db, version, cases=PUBLISHABLE_CASES)
    with session(db, role, db.tenant()) as connection:
        assert connection.execute(VALIDATE.encode(), [version]).rowcount == 1


def test_an_owner_writes_no_run_of_tests(db: Database) -> None:
    version = draft_of_rules(db)
    run = (
        "INSERT INTO rule_tests_runs"
        " (tenant_id, rule_package_version_id, job_id, seed, cases, passed, report)"
        " VALUES (%s, %s, gen_random_uuid(), 0, 500, true, '[]')"
    )
    with session(db, "bpc_app", db.tenant()) as connection, pytest.raises(errors.InsufficientPrivilege):
        connection.execute(run.encode(), [db.tenant(), version])
