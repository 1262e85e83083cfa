"""What jobs died of, cause by cause: what messages have in common, how far counts go, whose they are."""

import json
from collections.abc import Iterator
from uuid import UUID

import psycopg
import pytest
from psycopg import errors

from bpc_worker.postgres.sql_files import prepared
from tests.integration.test_immutability import session
from tests.support.database import Database
from tests.support.operators import letters

SAME = [
    ("the receiver answered 500 to https://x.example/7 in 1.25 s",
     "the receiver answered 503 to https://x.example/81 in 12,5 s"),
    ("no job 0192f0c1-7a5e-7c3b-9c1d-2f4b6a8c0e13", "no job 0192F0C1-7A5E-7C3B-9C1D-2F4B6A8C0E14"),
    ("'forty-nine' is no number", "'fifty' is no number"),
    ('no table "orders_7"', 'no table "parts"'),
    ("sha256 9f86d081884c7d65 differs", "sha256 60303ae22b998861 differs"),
    ("at 12:03:05 it was away", "at 7:00 it was away"),
]  # fmt: skip
OTHER = [
    ("it isn't there, and can't be", "it isn't here, and can't be"),
    ("the receiver answered 500", "the receiver did not answer"),
    ("decade", "facade"),
]


def fingerprint(db: Database, message: str | None) -> object:
    return db.one("SELECT bpc_fingerprint(%s) AS f", [message])["f"]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_numbers_ids_hashes_and_quotations_make_no_cause(
    untouched_db: Database, one: str, other: str
) -> None:
    assert fingerprint(untouched_db, one) == fingerprint(untouched_db, other)


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_other_words_are_another_cause(untouched_db: Database, one: str, other: str) -> None:
    assert fingerprint(untouched_db, one) != fingerprint(untouched_db, other)


@pytest.mark.parametrize(
    "message", [None, "", "x" * 100_000, "'" * 5000, "\U0001f50b {0} %s \\1 \n", "(" * 999]
)
def test_whatever_a_message_is_it_has_a_fingerprint(untouched_db: Database, message: str | None) -> None:
    """Else its job could not die."""
    assert len(str(fingerprint(untouched_db, message))) == 12


@pytest.mark.parametrize(
    "error", [None, "null", '"text"', "[1]", '{"message": {"a": 1}}', '{"message": null}']
)
def test_whatever_an_error_is_its_job_dies(db: Database, error: str | None) -> None:
    [job_id] = letters(db)
    db.run("UPDATE jobs SET last_error = %s::jsonb WHERE job_id = %s", [error, job_id])

    assert db.one("SELECT sum(count) AS n FROM bpc_dead_causes(NULL, NULL, 10)")["n"] == 1


def several(db: Database) -> None:
    letters(db, 7, job_type="TEST_EFFECT", code="LEASE_EXPIRED")
    letters(db, 3, job_type="TEST_EFFECT", code="LEASE_EXPIRED", status="FAILED")
    letters(db, 2, job_type="TEST_NOOP", age="1 minute")
    letters(db, 4, tenant="other", age="1 second")


def causes(db: Database, role: str, tenant: str | None, *arguments: object) -> list[tuple[object, ...]]:
    asked = "SELECT status, type, code, count FROM bpc_dead_causes(%s, %s, %s)"
    with session(db, role, tenant) as connection:
        rows = connection.execute(asked, arguments).fetchall()
    return [tuple(row.values()) for row in rows]


def test_causes_come_newest_first_each_with_its_own_state(db: Database) -> None:
    several(db)

    assert causes(db, "bpc_reader", None, None, None, 6) == [
        ("DEAD_LETTER", "TEST_NOOP", "COMMAND_FAILED", 6),
        ("FAILED", "TEST_EFFECT", "LEASE_EXPIRED", 3),
        ("DEAD_LETTER", "TEST_EFFECT", "LEASE_EXPIRED", 6),
    ]
    assert causes(db, "bpc_reader", None, None, "FAILED", 9) == [
        ("FAILED", "TEST_EFFECT", "LEASE_EXPIRED", 3)
    ]
    assert causes(db, "bpc_reader", None, db.tenant("other"), None, 9) == [
        ("DEAD_LETTER", "TEST_NOOP", "COMMAND_FAILED", 4)
    ]


def test_an_owner_counts_its_own_and_may_ask_for_no_others(db: Database) -> None:
    several(db)
    ours, other = db.tenant(), db.tenant("other")

    assert [row[-1] for row in causes(db, "bpc_app", ours, ours, None, 99)] == [2, 3, 7]
    for wanted in (None, other):
        for function in (
            "bpc_dead_causes(%s, NULL, 9)", "bpc_job_kinds(%s, 9, now())",
            "bpc_dead_page(%s, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 9)",
            "bpc_dead_count(%s, NULL, NULL, NULL, NULL, NULL, NULL, 9)",
        ):  # fmt: skip
            with session(db, "bpc_app", ours) as connection, pytest.raises(errors.InsufficientPrivilege):
                connection.execute(f"SELECT * FROM {function}".encode(), [wanted])


def test_a_reason_told_to_an_owner_names_no_machine_and_no_person(db: Database) -> None:
    job_id, theirs = db.enqueue("TEST_NOOP"), letters(db, tenant="other")[0]
    db.run("SELECT bpc_pause('type', 'TEST_NOOP', 'said in confidence')")
    with session(db, "bpc_app", db.tenant()) as connection:
        told = connection.execute("SELECT * FROM bpc_explain_own_job(%s)", [job_id]).fetchall()
        others = connection.execute("SELECT * FROM bpc_explain_own_job(%s)", [theirs]).fetchall()

    assert (told[0]["reason"], told[0]["message"]) == ("paused", "it is paused")
    assert "confidence" not in str(told)
    assert others == []


# Plans: every page's query finds its rows through an index, in a table that is full.

FILL = """
INSERT INTO jobs (tenant_id, type, queue, priority, status, scheduled_at, finished_at, last_error, fail_code,
                  correlation_id)
SELECT (SELECT min(tenant_id::text)::uuid FROM tenants), 'TYPE_' || g % 7, 'default', g % 4,
       CASE WHEN g % 3 = 0 THEN 'QUEUED' WHEN g % 50 = 1 THEN 'DEAD_LETTER' ELSE 'SUCCEEDED' END,
       now() - g * interval '1 ms', CASE WHEN g % 3 > 0 THEN now() - g * interval '1 ms' END,
       jsonb_build_object('message', 'cause ' || chr(97 + g % 20)), 'CODE_' || g % 3, 'c' || g
FROM generate_series(1, 60000) AS g
"""
TELL = b"""
LOAD 'auto_explain'; SET auto_explain.log_min_duration = 0; SET auto_explain.log_nested_statements = on;
SET auto_explain.log_analyze = on; SET auto_explain.log_format = json; SET client_min_messages = log;
"""
NOTHING = dict.fromkeys(
    ("tenant_id", "status", "type", "code", "fingerprint", "before", "after_at", "after_id", "state", "after",
     "bulk_act_id", "product", "endpoint", "gtin")
)  # fmt: skip
JOB = UUID(int=7)
GIVEN: dict[str, dict[str, object]] = {
    "pulse": {}, "ended_by_minute": {"minutes": 60, "most": 100}, "kinds": {"most": 100},
    "dead_causes": {"most": 100}, "dead_page": {"page": 50}, "dead_count": {"most": 100},
    "job": {"job_id": JOB}, "job_events": {"job_id": JOB, "limit": 9}, "job_family": {"job_id": JOB},
    "correlated": {"correlation_id": "c7", "limit": 9}, "exported": {"job_ids": [JOB]},
    "search": {"id": JOB, "text": "x"}, "search_job": {"id": JOB}, "build": {"build_id": JOB},
    "build_documents": {"build_id": JOB}, "builds": {"page": 50}, "builds_stopped": {"limit": 5},
    "builds_counted": {"most": 100}, "passports": {"page": 50}, "version_named": {"id": JOB},
    "passport_versions": {"passport_id": JOB, "tenant_id": JOB}, "deliveries": {"page": 50},
    "passport_events": {"passport_id": JOB, "tenant_id": JOB}, "delivery": {"id": JOB},
}  # fmt: skip


@pytest.fixture(scope="module")
def full(any_db: Database) -> Database:
    any_db.run(FILL)
    any_db.run("ANALYZE jobs")
    return any_db


def nodes(node: dict[str, object]) -> Iterator[dict[str, object]]:
    yield node
    for child in node.get("Plans", []):  # type: ignore[attr-defined]  # a list of nodes
        yield from nodes(child)


def scans(db: Database, name: str, given: dict[str, object]) -> list[dict[str, object]]:
    """How every statement of a page's query reads tables of ours, those inside functions too."""
    statement, told = prepared(f"dashboard/{name}"), []
    values = [(NOTHING | given)[each] for each in statement.names]
    with psycopg.connect(db.url) as connection:
        connection.execute(TELL)
        connection.execute("SET LOCAL plan_cache_mode = force_custom_plan")
        connection.add_notice_handler(lambda notice: told.append(str(notice.message_primary)))
        psycopg.RawCursor(connection).execute(statement.text, values)
        connection.rollback()
    plans = [json.loads(text[text.index("{") :])["Plan"] for text in told if "plan:" in text]
    return [node for plan in plans for node in nodes(plan) if "Relation Name" in node]


@pytest.mark.parametrize("name", GIVEN)
def test_a_page_finds_its_jobs_through_an_index(full: Database, name: str) -> None:
    """And reads no more of them than it shows or counts."""
    reading = [
        node for node in scans(full, name, GIVEN[name]) if node["Relation Name"] in {"jobs", "job_events"}
    ]

    assert not [node for node in reading if "Seq Scan" in str(node["Node Type"])], reading
    for node in reading:
        read = round(float(str(node["Actual Rows"])) * int(str(node["Actual Loops"])))
        assert read <= 8000, (node.get("Index Name"), read)
        assert not node.get("Rows Removed by Filter"), node


@pytest.mark.parametrize(
    "name", ["search", "builds", "passports", "deliveries", "version_named", "passport_events"]
)
def test_a_page_finds_rows_of_the_domain_through_an_index(full: Database, name: str) -> None:
    """Small as the tables are here: where a scan of all costs more than anything, none is left."""
    statement = prepared(f"dashboard/{name}")
    values = [(NOTHING | GIVEN[name])[each] for each in statement.names]
    with psycopg.connect(full.url) as connection:
        connection.execute("SET LOCAL enable_seqscan = off")
        plan = psycopg.RawCursor(connection)
        plan.execute(b"EXPLAIN (FORMAT JSON) " + statement.text, values)
        row = plan.fetchone()
    assert row is not None
    large = {"passports", "passport_builds", "documents", "document_versions", "passport_versions", "events",
             "webhook_deliveries", "battery_products"}  # fmt: skip
    whole = [
        node for node in nodes(row[0][0]["Plan"])
        if node.get("Relation Name") in large and "Seq Scan" in str(node["Node Type"])
    ]  # fmt: skip

    assert whole == []
