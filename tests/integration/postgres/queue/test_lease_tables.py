"""Tables of others with the lease columns: reaped like ours, by a name that was checked."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from bpc_worker.engine.maintenance.lease_tables import TableReaper
from bpc_worker.jobs.backoff import Backoff
from bpc_worker.jobs.errors import Permanent
from bpc_worker.postgres.connection import Link
from bpc_worker.postgres.dsn import Dsn
from bpc_worker.postgres.queue.lease_tables import FurtherTable
from bpc_worker.testing import NOON
from tests.support.database import Database

PLAIN = """
CREATE TABLE asr_jobs (
  id integer PRIMARY KEY, status text NOT NULL,
  attempts integer NOT NULL, max_attempts integer NOT NULL DEFAULT 3,
  lease_owner text, lease_expires_at timestamptz, last_heartbeat_at timestamptz,
  scheduled_at timestamptz {more}
);
GRANT SELECT, UPDATE ON asr_jobs TO bpc_worker;
"""


@asynccontextmanager
async def table(db: Database, name: str = "asr_jobs") -> AsyncIterator[FurtherTable]:
    link = Link(Dsn(url=db.url_as("bpc_worker"), application_name="test"))
    yield FurtherTable(link, name, backoff=Backoff(), call_timeout=20, now=NOON)
    link.drop()


def add(db: Database, key: int, *, attempts: int, expires_in: float, status: str = "RUNNING") -> None:
    db.run(
        "INSERT INTO asr_jobs (id, status, attempts, lease_owner, lease_expires_at)"
        " VALUES (%s, %s, %s, 'w', %s)",
        [key, status, attempts, NOON + timedelta(seconds=expires_in)],
    )


async def test_what_a_dead_worker_left_is_queued_again_or_given_up(db: Database) -> None:
    db.run(PLAIN.format(more=""))
    add(db, 1, attempts=1, expires_in=-1)
    add(db, 2, attempts=3, expires_in=-1)
    add(db, 3, attempts=1, expires_in=1)  # alive
    add(db, 4, attempts=1, expires_in=-1, status="DONE")
    async with table(db) as asr:
        assert await asr.reap(ended_for=2) == [], "they may have ended in an outage"
        moved = await asr.reap()
        again = await asr.reap()

    rows = {row["id"]: row for row in db.run("SELECT * FROM asr_jobs")}
    assert sorted(left.status for left in moved) == ["DEAD_LETTER", "QUEUED"]
    assert again == []
    assert [rows[key]["status"] for key in (1, 2, 3, 4)] == ["QUEUED", "DEAD_LETTER", "RUNNING", "DONE"]
    assert rows[1]["lease_owner"] is None
    assert rows[1]["scheduled_at"] >= NOON + timedelta(seconds=2)  # type: ignore[operator]  # a time
    assert rows[2]["lease_expires_at"] is None


async def test_where_it_has_more_of_our_columns_they_are_used(db: Database) -> None:
    more = ", lease_token uuid, fail_code text, job_id uuid NOT NULL DEFAULT gen_random_uuid()"
    db.run(PLAIN.format(more=more))
    add(db, 1, attempts=1, expires_in=-1)
    db.run("UPDATE asr_jobs SET lease_token = gen_random_uuid()")
    async with table(db) as asr:
        await asr.reap()

    row = db.one("SELECT job_id, lease_token, fail_code FROM asr_jobs")
    event = db.one("SELECT type, data FROM job_events WHERE job_id = %s", [row["job_id"]])
    assert (row["lease_token"], row["fail_code"]) == (None, "LEASE_EXPIRED")
    assert event["type"] == "reaper:requeued"
    assert event["data"]["table"] == "asr_jobs"  # type: ignore[index]  # jsonb


@pytest.mark.parametrize(
    ("make", "words"),
    [
        ("SELECT 1", "is no table in the schema public"),
        ("CREATE TABLE asr_jobs (status text, attempts integer)", "lacks max_attempts, lease_owner"),
        (PLAIN.format(more="") + "REVOKE UPDATE ON asr_jobs FROM bpc_worker", "permission denied"),
    ],
)
async def test_a_table_that_does_not_fit_is_told_and_stops_nobody(
    db: Database, make: str, words: str
) -> None:
    db.run(make)
    db.run(PLAIN.format(more="").replace("asr_jobs", "other_jobs"))
    counted: list[str] = []

    class Metrics:
        def table_reaped(self, table: str, *, action: str) -> None:
            counted.append(f"{table} {action}")

    db.run("INSERT INTO other_jobs VALUES (1, 'RUNNING', 1, 3, 'w', %s)", [NOON - timedelta(seconds=1)])
    async with table(db) as asr, table(db, "other_jobs") as other:
        with pytest.raises(Permanent, match=words):
            await asr.reap()
        await TableReaper([asr, other], Metrics(), spared_seconds=lambda: 0.0).sweep()

    assert counted == ["other_jobs requeued"]


@pytest.mark.parametrize("name", ["jobs", "Asr", 'a"; DROP TABLE jobs; --', "", "a.b"])
def test_only_plain_names_are_taken(name: str) -> None:
    link = Link(Dsn(url="postgresql://nowhere", application_name="test"))
    with pytest.raises(ValueError, match="no plain name"):
        FurtherTable(link, name, backoff=Backoff(), call_timeout=20)
