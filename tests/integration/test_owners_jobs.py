"""Whoever speaks for one tenant (bpc_app) sees, queues and stops the jobs of that one, and of no other.

There is no row level security on `jobs`: a view and functions that compare the tenant stand before it.
"""

import re

import psycopg
import pytest
from psycopg import errors

from bpc_worker.postgres.sql_files import query
from tests.integration.test_immutability import session
from tests.support.database import Database
from tests.support.operators import letters

# Of the queue, what is whose: everybody's rows in one table.
QUEUE_TABLES = ("jobs", "job_events", "job_pauses", "job_pause_events")
NEW = "INSERT INTO own_jobs (tenant_id, type, payload) VALUES (%s, 'TEST_NOOP', '{}') RETURNING job_id"


def theirs(db: Database) -> str:
    """A job of another tenant, with a secret in it."""
    row = db.one(
        "INSERT INTO jobs (tenant_id, type, payload) VALUES (%s, 'TEST_NOOP', '{\"secret\": 1}')"
        " RETURNING job_id",
        [db.tenant("other")],
    )
    return str(row["job_id"])


@pytest.mark.parametrize("table", QUEUE_TABLES)
def test_an_owner_reads_no_table_in_which_all_tenants_have_rows(db: Database, table: str) -> None:
    theirs(db)
    with session(db, "bpc_app", db.tenant()) as connection, pytest.raises(errors.InsufficientPrivilege):
        connection.execute(f"SELECT * FROM {table}".encode())


def test_an_owner_sees_the_jobs_of_its_tenant_and_without_a_tenant_none(db: Database) -> None:
    ours, _ = db.enqueue("TEST_NOOP"), theirs(db)
    for tenant_id, seen in ((db.tenant(), [ours]), (None, []), ("", [])):
        with session(db, "bpc_app", tenant_id) as connection:
            rows = connection.execute("SELECT job_id, payload FROM own_jobs").fetchall()
        assert [str(row["job_id"]) for row in rows] == seen


def test_no_condition_of_the_caller_looks_at_rows_of_others(db: Database) -> None:
    """A function in a WHERE sees only what the view shows: the view is a barrier."""
    ours, foreign = db.enqueue("TEST_NOOP"), theirs(db)
    with session(db, "bpc_app", db.tenant()) as connection:
        connection.execute(
            "CREATE FUNCTION pg_temp.peek(id uuid) RETURNS boolean LANGUAGE plpgsql COST 0.0000001"
            " AS $$ BEGIN RAISE NOTICE '%', id; RETURN true; END $$"
        )
        seen: list[str] = []
        connection.add_notice_handler(lambda notice: seen.append(notice.message_primary or ""))
        connection.execute("SELECT FROM own_jobs WHERE pg_temp.peek(job_id)")

    assert seen == [ours]
    assert foreign not in seen


def test_an_owner_queues_for_its_own_tenant_only(db: Database) -> None:
    ours, other = db.tenant(), db.tenant("other")
    with session(db, "bpc_app", ours) as connection:
        assert connection.execute(NEW, [ours]).rowcount == 1
        for statement in (NEW, NEW.replace("own_jobs", "jobs")):
            with pytest.raises(psycopg.Error), connection.transaction():
                connection.execute(statement.encode(), [other])
    with session(db, "bpc_app", None) as connection, pytest.raises(psycopg.Error):
        connection.execute(NEW, [ours])


@pytest.mark.parametrize(
    "column", ["status", "attempts", "snoozes", "created_at", "result", "last_error", "cancel_requested_at"]
)
def test_a_new_job_is_new_whoever_queues_it(db: Database, column: str) -> None:
    may = db.one("SELECT has_column_privilege('bpc_app', 'own_jobs', %s, 'INSERT') AS may", [column])
    changes = db.one("SELECT has_any_column_privilege('bpc_app', 'own_jobs', 'UPDATE') AS may")
    removes = db.one("SELECT has_table_privilege('bpc_app', 'own_jobs', 'DELETE') AS may")

    assert (may, changes, removes) == ({"may": False},) * 3


@pytest.mark.parametrize("tenant", ["acme", None])
def test_an_owner_cancels_its_own_jobs_only(db: Database, tenant: str | None) -> None:
    foreign, ours = theirs(db), db.enqueue("TEST_NOOP")
    with session(db, "bpc_app", tenant and db.tenant(tenant)) as connection:
        with pytest.raises(errors.NoDataFound, match="no job"), connection.transaction():
            connection.execute("SELECT bpc_cancel_job(%s)", [foreign])
        if tenant is not None:
            done = connection.execute("SELECT bpc_cancel_job(%s) AS status", [ours]).fetchone()
            assert done == {"status": "CANCELLED"}


@pytest.mark.parametrize("act", ["bpc_retry_job", "bpc_discard_job"])
def test_an_owner_decides_about_its_own_dead_letters_only(db: Database, act: str) -> None:
    [ours], [foreign] = letters(db), letters(db, tenant="other")
    with session(db, "bpc_app", db.tenant()) as connection:
        with pytest.raises(errors.NoDataFound, match="no job"), connection.transaction():
            connection.execute(f"SELECT {act}(%s)".encode(), [foreign])
        connection.execute(f"SELECT {act}(%s)".encode(), [ours])


def test_a_page_of_an_owners_dead_letters_holds_no_others(db: Database) -> None:
    letters(db, 2)
    letters(db, 3, tenant="other")
    retried = "SELECT bpc_retry_jobs(of_type => 'TEST_NOOP') AS n"
    with session(db, "bpc_app", db.tenant()) as connection:
        assert connection.execute(retried).fetchone() == {"n": 2}
    with session(db, "bpc_app", None) as connection:
        assert connection.execute(retried).fetchone() == {"n": 0}
    with session(db, "bpc_operator", None) as connection:
        assert connection.execute(retried).fetchone() == {"n": 5}


def test_an_owner_pauses_and_resumes_its_own_tenant_only(db: Database) -> None:
    ours, other = db.tenant(), db.tenant("other")
    db.run("SELECT bpc_pause('tenant', %s, 'by an operator')", [other])
    with session(db, "bpc_app", ours) as connection:
        for kind, name in (("tenant", other), ("type", "TEST_NOOP"), ("queue", "default")):
            for call in ("bpc_pause(%s, %s, 'x')", "bpc_resume(%s, %s)"):
                with pytest.raises(errors.InsufficientPrivilege), connection.transaction():
                    connection.execute(f"SELECT {call}".encode(), [kind, name])
        connection.execute("SELECT bpc_pause('tenant', %s, 'x')", [ours])
        assert connection.execute("SELECT bpc_resume('tenant', %s) AS was", [ours]).fetchone() == {
            "was": True
        }


def test_an_operator_acts_for_all_tenants(db: Database) -> None:
    foreign = theirs(db)
    [dead] = letters(db, tenant="other")
    with session(db, "bpc_operator", None) as connection:
        connection.execute("SELECT bpc_cancel_job(%s)", [foreign])
        connection.execute("SELECT bpc_retry_job(%s)", [dead])
        connection.execute("SELECT bpc_pause('tenant', %s, 'x')", [db.tenant("other")])
        connection.execute("SELECT bpc_pause('type', 'TEST_NOOP', 'x')")


def test_an_owner_may_call_what_compares_the_tenant_and_nothing_else(db: Database) -> None:
    """A function that is new here has to say why it may be called by whoever speaks for one tenant."""
    rows = db.run(
        "SELECT proname FROM pg_proc WHERE proowner = 'bpc_owner'::regrole"
        " AND has_function_privilege('bpc_app', oid, 'EXECUTE')"
    )

    assert {str(row["proname"]) for row in rows} == {
        "bpc_uuid_v7", "bpc_event_id", "bpc_tenant", "bpc_tenant_named", "bpc_find_tenant",  # no jobs
        "bpc_lock_event_head", "bpc_number_events", "bpc_test_webhook", "bpc_redeliver",  # its rows
        "bpc_gate", "bpc_login", "bpc_unseen", "bpc_who",  # with the rights of whoever asks
        "bpc_create_token", "bpc_revoke_token", "bpc_publish",  # of its tenant
        "bpc_cancel_job", "bpc_retry_job", "bpc_discard_job", "bpc_retry_jobs",  # of its jobs
        "bpc_explain_own_job", "bpc_dead_causes", "bpc_dead_page", "bpc_dead_count", "bpc_job_kinds",
        "bpc_ask_bulk", "bpc_stop_bulk",  # of them and what is asked about them
        "bpc_cause_pattern", "bpc_fingerprint",  # of a text
        "bpc_forget_api_requests",  # older than a day, whosever
        "bpc_pause", "bpc_put_blob", "bpc_take_tokens", "bpc_resume", "bpc_same_payload",
    }  # fmt: skip


def test_a_role_that_was_taken_on_counts_and_not_the_login_behind_it(db: Database) -> None:
    """As connection pools do it: one login that may become several roles."""
    foreign = theirs(db)
    with session(db, None, db.tenant()) as connection:
        connection.execute("SET LOCAL ROLE bpc_app")
        with pytest.raises(errors.NoDataFound, match="no job"), connection.transaction():
            connection.execute("SELECT bpc_cancel_job(%s)", [foreign])
        connection.execute("SET LOCAL ROLE bpc_operator")
        connection.execute("SELECT bpc_cancel_job(%s)", [foreign])


def test_a_key_is_looked_up_by_its_index_behind_the_view(db: Database) -> None:
    with session(db, "bpc_app", db.tenant()) as connection:
        connection.execute("SET LOCAL enable_seqscan = off")
        for name, wanted in (
            ("jobs/find_key_state", {"type": "TEST_NOOP", "idempotency_key": "k"}),
            ("webhooks/deliveries", dict.fromkeys(
                ("webhook_endpoint_id", "webhook_delivery_id", "status", "newer_seconds", "limit", "after"))),
        ):  # fmt: skip
            params = {"tenant_id": db.tenant(), **wanted}
            plan = connection.execute(b"EXPLAIN " + query(name), params).fetchall()
            text = "\n".join(str(row["QUERY PLAN"]) for row in plan)
            assert re.search(r"jobs_idempotency.*\n\s+Index Cond: .*idempotency_key", text), text
