"""The plans of the engine's statements, on the newest PostgreSQL and on an older one: through the right index
while the table is empty, young, large, and full of finished jobs; for a plan, once made, is kept.
"""

import json
from collections.abc import Iterator
from uuid import UUID

import psycopg
import pytest

from bpc_worker.postgres.dsn import Dsn
from bpc_worker.postgres.sql_files import prepared
from tests.support.database import Database

Node = dict[str, object]

FILL = """
INSERT INTO jobs (tenant_id, type, queue, priority, status, scheduled_at, finished_at, idempotency_key)
SELECT (SELECT min(tenant_id::text)::uuid FROM tenants), 'TYPE_' || g % 7, 'default', g % 4,
       CASE WHEN g % 3 = 0 THEN 'QUEUED' ELSE 'SUCCEEDED' END, now() - g * interval '1 ms', now(), 'k' || g
FROM generate_series(1, 30000) AS g
"""


@pytest.fixture(scope="module", params=["empty", "not analysed", "analysed"])
def table(request: pytest.FixtureRequest, any_db: Database) -> Database:
    any_db.run("TRUNCATE jobs")
    if request.param != "empty":
        any_db.run(FILL)
    if request.param == "analysed":
        any_db.run("ANALYZE jobs")
    return any_db


def scans(db: Database, name: str) -> list[Node]:
    """How the kept plan reads `jobs`."""
    statement = prepared(name)
    nothing = ", ".join(["NULL"] * len(statement.names))
    conninfo = Dsn(url=db.url, application_name="plans", engine=True).conninfo()
    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.execute(b"PREPARE wanted AS " + statement.text)
        row = connection.execute(f"EXPLAIN (FORMAT JSON) EXECUTE wanted ({nothing})".encode()).fetchone()
        assert row is not None
        [plan] = row[0] if isinstance(row[0], list) else json.loads(row[0])
    reading = [node for node in _nodes(plan["Plan"]) if node.get("Relation Name") == "jobs"]
    return [node for node in reading if node["Node Type"] != "ModifyTable"]


def _nodes(node: Node) -> Iterator[Node]:
    yield node
    for child in node.get("Plans", []):  # type: ignore[attr-defined]  # a list of nodes
        yield from _nodes(child)


def _through(node: Node) -> object:
    return node.get("Index Name", node["Node Type"])


@pytest.mark.parametrize(
    ("name", "indexes"),
    [
        ("jobs/claim_suspect", {"jobs_suspect", "jobs_pkey"}),
        ("jobs/watch_suspects", {"jobs_suspect"}),
        ("jobs/settle", {"jobs_pkey"}),
        ("jobs/settle_group", {"jobs_pkey"}),
        ("jobs/renew", {"jobs_pkey"}),
        ("jobs/reap", {"jobs_leased", "jobs_pkey"}),
        ("jobs/sample", {"jobs_ring"}),
        ("jobs/running", {"jobs_leased"}),
        ("jobs/overdue", {"jobs_leased"}),
        ("limits/take_for_due", {"jobs_probe", "jobs_suspect"}),
        ("limits/due", {"jobs_probe", "jobs_suspect"}),
    ],
)
def test_every_row_is_found_through_its_index(table: Database, name: str, indexes: set[str]) -> None:
    assert {_through(node) for node in scans(table, name)} <= indexes


CLAIM = {
    "limit": 10, "window": 20, "reach": 20, "hops": 8, "share": 2, "unserved": 0, "oldest": "true",
    "ahead": "false", "ring_at": f"'{UUID(int=0)}'", "claim_bytes": 8388608, "inline_bytes": 32768,
    "passed_over": "'{}'", "lease_seconds": 60, "scan": "true", "at_queues": "'{default}'",
    "at_types": "'{\"\"}'", "at_priorities": "'{-1}'", "since": "'{-infinity}'",
    "since_ids": f"'{{{UUID(int=0)}}}'", "types": "'{TYPE_1}'", "pot": "'{NULL}'", "pots": "'{}'",
    "owner": "'plans'", "nonce": f"'{UUID(int=1)}'",
}  # fmt: skip
TELL_EVERY_STEP = b"""
LOAD 'auto_explain';
SET auto_explain.log_min_duration = 0;
SET auto_explain.log_nested_statements = on;
SET auto_explain.log_analyze = on;
SET auto_explain.log_format = json;
SET client_min_messages = log;
"""


def claim_steps(db: Database, **other: object) -> list[Node]:
    """How every step of a claim read `jobs`; nothing of it stays."""
    statement = prepared("jobs/claim")
    values = ", ".join(str((CLAIM | other).get(name, "NULL")) for name in statement.names)
    return steps(db, b"PREPARE wanted AS " + statement.text, f"EXECUTE wanted ({values})")


def steps(db: Database, prepare: bytes, execute: str) -> list[Node]:
    told: list[str] = []
    conninfo = Dsn(url=db.url, application_name="plans", engine=True).conninfo()
    with psycopg.connect(conninfo) as connection:
        connection.execute(prepare)
        connection.execute(TELL_EVERY_STEP)
        connection.add_notice_handler(lambda notice: told.append(str(notice.message_primary)))
        connection.execute(execute.encode())
        connection.rollback()
    plans = [json.loads(text[text.index("{") :])["Plan"] for text in told if "plan:" in text]
    return [node for plan in plans for node in _nodes(plan) if node.get("Relation Name") == "jobs"]


def test_every_step_of_a_claim_finds_its_rows_through_their_index(table: Database) -> None:
    reading = [node for node in claim_steps(table) if node["Node Type"] != "ModifyTable"]

    assert {_through(node) for node in reading} <= {"jobs_probe", "jobs_ring", "jobs_pkey"}
    by_key = [node for node in reading if _through(node) == "jobs_pkey"]
    assert all("job_id = " in str(node.get("Index Cond", "")) for node in by_key)


def test_a_claim_goes_straight_to_its_places(table: Database) -> None:
    """Only the ring reads by tenant; the others read a place in its order, from its first due job on."""
    table.run("INSERT INTO tenants (name) VALUES ('a second one') ON CONFLICT DO NOTHING")
    found = [(_through(node), str(node.get("Index Cond", ""))) for node in claim_steps(table)]
    probes = [condition for index, condition in found if index == "jobs_probe"]
    [walk] = [condition for condition in probes if "(ROW(type, priority) > " in condition]

    assert "(queue = " in walk
    assert all("(scheduled_at " in condition for condition in probes if condition != walk)
    assert all("(tenant_id = " in condition for index, condition in found if index == "jobs_ring")


@pytest.mark.parametrize("name", ["jobs/settle", "jobs/settle_group"])
def test_a_row_is_found_by_its_id(table: Database, name: str) -> None:
    """By itself: whoever reads the whole key in its order reads every job there ever was."""
    by_key = [node for node in scans(table, name) if _through(node) == "jobs_pkey"]

    assert by_key
    assert all("job_id = " in str(node.get("Index Cond", "")) for node in by_key)


def test_a_claim_that_looks_everywhere_reads_few_rows(table: Database) -> None:
    """However many are queued: one for every place in its queue, and those that it takes."""
    steps = claim_steps(table, share=0, oldest="false")
    reading = [node for node in steps if _through(node) == "jobs_probe"]
    read = sum(round(node["Actual Rows"] * node["Actual Loops"]) for node in reading)  # type: ignore[operator]
    queued = table.one("SELECT count(*) AS count FROM jobs WHERE status = 'QUEUED'")["count"]

    # An older PostgreSQL tells the rows of all loops as a whole number for each.
    assert read in ((7 * 4 + 20, 7 * 4 + 20 + 1) if queued else (0,))
    assert not any(node.get("Rows Removed by Filter") for node in reading)


LATER = """
INSERT INTO jobs (tenant_id, type, queue, priority, scheduled_at)
SELECT (SELECT min(tenant_id::text)::uuid FROM tenants), 'TYPE_' || g % 7, 'default', g % 4,
       now() + interval '1 day'
FROM generate_series(1, 5000) AS g
"""
FEW_DUE = (
    "UPDATE jobs SET scheduled_at = now() - interval '1 s' WHERE idempotency_key IN ('k3', 'k30', 'k300')"
)
ALL_LATER = "UPDATE jobs SET scheduled_at = now() + interval '1 day' WHERE status = 'QUEUED'"
HANDLES = """
INSERT INTO workers
  (worker_id, host, pid, release, types, queues, concurrency, started_at, seen_at, expires_at)
VALUES ('w', 'h', 1, '1', ARRAY(SELECT 'TYPE_' || g FROM generate_series(0, 6) AS g), '{default}', 10,
        now(), now(), now() + interval '1 hour')
"""
PAUSES = "SELECT bpc_pause('tenant', gen_random_uuid()::text, 'by a test')"


@pytest.mark.parametrize("handled", [HANDLES, None])
@pytest.mark.parametrize("pauses", [PAUSES, None])
@pytest.mark.parametrize("due", [3, 10_000])
def test_how_many_workers_are_needed_is_asked_by_places(
    table: Database, handled: str | None, pauses: str | None, due: int
) -> None:
    """Neither what has ended nor what lies in the future is read; of what is due, what is counted."""
    before = [each for each in (handled, pauses) if each is not None]
    is_empty = not table.run("SELECT FROM jobs LIMIT 1")
    if not is_empty:
        before += [LATER, *([ALL_LATER, FEW_DUE] if due == 3 else [])]  # all of them were due
    found = steps(table, "; ".join(["SELECT 1", *before]).encode(), "SELECT bpc_desired_workers(1)")

    assert found
    assert {_through(node) for node in found} <= {"jobs_probe", "jobs_ring", "jobs_leased", "jobs_suspect"}
    assert not any(node.get("Rows Removed by Filter") for node in found)
    read = sum(round(node["Actual Rows"] * node["Actual Loops"]) for node in found)  # type: ignore[operator]
    assert read <= (0 if is_empty else due + 2 * 7 * 4 + 50)


def test_no_plan_is_compiled(table: Database) -> None:
    """Compiling the claim takes a second on the older one."""
    conninfo = Dsn(url=table.url, application_name="plans", engine=True).conninfo()
    with psycopg.connect(conninfo, autocommit=True) as connection:
        found = connection.execute("SHOW jit").fetchone()

    assert found == ("off",)
