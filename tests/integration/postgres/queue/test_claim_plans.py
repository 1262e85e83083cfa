"""The plans of the engine's statements, on the newest PostgreSQL and on an older one: through the right index
while the table is empty, young, large, and full of finished jobs; for a plan, once made, is kept.
"""

import json
import os
from collections.abc import Iterator

import psycopg
import pytest

from bpc_worker.postgres.connection import Dsn
from bpc_worker.postgres.sql_files import prepared
from tests.support import database as databases
from tests.support.database import Database
from tests.support.other_postgres import OLDER, older_bin_dir

Node = dict[str, object]

EVERY_PART = ("turns", "suspects", "ends", "ring")

FILL = """
INSERT INTO jobs (tenant_id, type, queue, priority, status, scheduled_at, finished_at, idempotency_key)
SELECT (SELECT min(tenant_id::text)::uuid FROM tenants), 'TYPE_' || g % 7, 'default', g % 4,
       CASE WHEN g % 3 = 0 THEN 'QUEUED' ELSE 'SUCCEEDED' END, now() - g * interval '1 ms', now(), 'k' || g
FROM generate_series(1, 30000) AS g
"""


@pytest.fixture(scope="module", params=["newest", "older"])
def any_db(request: pytest.FixtureRequest) -> Iterator[Database]:
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "older":
            folder = older_bin_dir()
            if folder is None:
                assert os.environ.get("CI") != "true", f"PostgreSQL {OLDER} could not be had"
                pytest.skip(f"no PostgreSQL {OLDER} here; BPC_TEST_OLDER_PG_BIN names its programs")
            patch.setenv("BPC_TEST_PG_BIN", str(folder))
        with databases.postgres(databases.NO_FSYNC, in_memory=True) as server:
            databases.make_template(server)
            with databases.database(server) as db:
                db.tenant()
                yield db


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
    statement = prepared(name, *EVERY_PART)
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
        ("jobs/claim", {"jobs_probe", "jobs_ring", "jobs_suspect", "jobs_pkey"}),
        ("jobs/claim_at_place", {"jobs_probe", "jobs_ring", "jobs_pkey"}),
        ("jobs/claim_all_due", {"jobs_probe", "jobs_suspect", "jobs_pkey"}),
        ("jobs/settle", {"jobs_pkey"}),
        ("jobs/settle_group", {"jobs_pkey"}),
        ("jobs/renew", {"jobs_pkey"}),
        ("jobs/reap", {"jobs_leased", "jobs_pkey"}),
        ("jobs/suspect_waiting", {"jobs_suspect"}),
        ("jobs/sample", {"jobs_ring"}),
        ("jobs/running", {"jobs_leased"}),
        ("jobs/overdue", {"jobs_leased"}),
        ("limits/take_for_due", {"jobs_probe", "jobs_suspect"}),
        ("limits/due", {"jobs_probe", "jobs_suspect"}),
    ],
)
def test_every_row_is_found_through_its_index(table: Database, name: str, indexes: set[str]) -> None:
    assert {_through(node) for node in scans(table, name)} <= indexes


def test_a_claim_goes_straight_to_its_places(table: Database) -> None:
    """Only the ring reads by tenant; the others read a place in its order, from its first due job on."""
    found = [(_through(node), str(node.get("Index Cond", ""))) for node in scans(table, "jobs/claim")]
    probes = [condition for index, condition in found if index == "jobs_probe"]

    assert len(probes) == 3  # candidates, the oldest, the next to fall due
    assert all("(type = " in condition and "(scheduled_at " in condition for condition in probes)
    assert ["(tenant_id = " in condition for index, condition in found if index == "jobs_ring"] == [True]


def test_a_claim_at_one_place_reads_that_place_alone(table: Database) -> None:
    found = [
        (_through(node), str(node.get("Index Cond", ""))) for node in scans(table, "jobs/claim_at_place")
    ]
    [probe] = [condition for index, condition in found if index == "jobs_probe"]
    [ring] = [condition for index, condition in found if index == "jobs_ring"]

    assert "(type = " in probe
    assert "(scheduled_at " in probe
    assert "(tenant_id = " in ring


def test_a_claim_of_all_that_is_due_reads_few_rows(table: Database) -> None:
    """However many are queued."""
    statement = prepared("jobs/claim_all_due", "suspects")
    given = {"few": 100, "most": 10, "lease_seconds": 60, "queues": "'{default}'", "types": "'{TYPE_1}'"}
    values = ", ".join(str(given.get(name, "NULL")) for name in statement.names)
    conninfo = Dsn(url=table.url, application_name="plans", engine=True).conninfo()
    with psycopg.connect(conninfo) as connection:
        connection.execute(b"PREPARE wanted AS " + statement.text)
        explained = f"EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE wanted ({values})"
        row = connection.execute(explained.encode()).fetchone()
        connection.rollback()
        assert row is not None
    read = {_through(node): node for node in _nodes(row[0][0]["Plan"]) if node.get("Relation Name") == "jobs"}
    queued = table.one("SELECT count(*) AS count FROM jobs WHERE status = 'QUEUED'")["count"]

    assert read["jobs_probe"]["Actual Rows"] == (101 if queued else 0)
    assert not read["jobs_probe"].get("Rows Removed by Filter")
    assert not read["jobs_pkey"]["Actual Rows"]  # nothing is locked or taken where there is more


def test_no_plan_is_compiled(table: Database) -> None:
    """Compiling the claim takes a second on the older one."""
    conninfo = Dsn(url=table.url, application_name="plans", engine=True).conninfo()
    with psycopg.connect(conninfo, autocommit=True) as connection:
        found = connection.execute("SHOW jit").fetchone()

    assert found == ("off",)
