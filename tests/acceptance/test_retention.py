"""RETENTION_SWEEP by real workers: what goes, what is told of it, and that passports still replay."""

import json
import signal
from functools import partial
from pathlib import Path
from uuid import UUID

import pytest

from bpc_worker.pipeline.audit.verify import verify
from bpc_worker.pipeline.passports import activate
from bpc_worker.pipeline.replays import Replayed, replay_all
from bpc_worker.pipeline.session import PipelineSession
from tests.support.database import Database
from tests.support.domain import Domain
from tests.support.pipeline import Pipeline, battery, pipeline
from tests.support.retention import OLD, YOUNG, Attic
from tests.support.worker import command, until, worker

pytestmark = pytest.mark.acceptance

ALL = {"BPC_RETENTION_DAYS": json.dumps({"drafts": 30, "documents": 30, "deliveries": 30})}


def built(path: Pipeline, folder: Path) -> UUID:
    build = path.build(folder)
    assert path.ended(build).state == "DONE"
    version = path.version(build)["passport_version_id"]
    assert isinstance(version, UUID)
    return version


def attic_of(path: Pipeline) -> Attic:
    """In the rows of a passport that was really built."""
    row = path.db.one(
        "SELECT tenant_id, passport_id, snapshot_id, rule_package_version_id, passport_version_id"
        " FROM passport_versions LIMIT 1"
    )
    nothing = UUID(int=0)
    made = Domain(
        tenant_id=str(row["tenant_id"]), document_id=nothing, document_version_id=nothing, fact_id=nothing,
        snapshot_id=UUID(str(row["snapshot_id"])),
        rule_package_version_id=UUID(str(row["rule_package_version_id"])),
        passport_id=UUID(str(row["passport_id"])),
        passport_version_id=UUID(str(row["passport_version_id"])),
        build_id=nothing, chain=nothing,
    )  # fmt: skip
    return Attic(path.db, made)


def grow_old(db: Database) -> None:
    """Everything but the events, whose times are hashed."""
    with db.connect() as connection:
        connection.execute("SET session_replication_role = replica")
        for table in (
            "documents", "document_versions", "facts", "data_snapshots", "passports", "passport_versions",
            "passport_builds", "signing_keys", "rule_package_versions", "webhook_deliveries",
        ):  # fmt: skip
            connection.execute(f"UPDATE {table} SET created_at = created_at - interval '5000 days'".encode())


def replays(path: Pipeline) -> list[Replayed]:
    async def all_of(pipeline: PipelineSession) -> list[Replayed]:
        return [each async for each in replay_all(pipeline)]

    return path.call(all_of)


def applied(db: Database) -> list[dict[str, object]]:
    rows = db.run(
        "SELECT payload FROM events WHERE event_type = 'RETENTION_APPLIED' ORDER BY aggregate_version"
    )
    return [row["payload"] for row in rows if isinstance(row["payload"], dict)]


def swept(db: Database, count: int = 1) -> bool:
    jobs = db.run("SELECT status::text AS status FROM jobs WHERE type = 'RETENTION_SWEEP'")
    return len(jobs) >= count and {job["status"] for job in jobs} == {"SUCCEEDED"}


def test_exactly_what_is_old_and_needed_by_nothing_goes(db: Database, tmp_path: Path) -> None:
    path = pipeline(db)
    with worker(db.url_as("bpc_worker")):
        versions = [built(path, battery(tmp_path / str(n), f"S-{n}")) for n in range(2)]
    for version in versions:
        path.call(partial(activate, wanted=str(version)))
    attic = attic_of(path)
    grow_old(db)
    rejected, unneeded = attic.document(OLD, "REJECTED"), attic.document(OLD, facts=(attic.fact(),))
    stopped, draft = attic.build(OLD), attic.snapshot(OLD)
    delivered = attic.delivery(OLD, "DELIVERED")
    attic.document(YOUNG)
    attic.build(YOUNG)
    attic.snapshot(YOUNG)
    attic.delivery(YOUNG, "DELIVERED")
    attic.delivery(OLD, "PENDING")
    before = attic.ids()
    added = command(db.url_as("bpc_app"), "enqueue", "RETENTION_SWEEP", "--tenant", "acme")
    assert added.returncode == 0, added.stderr
    with worker(db.url_as("bpc_worker"), **ALL):
        until(lambda: swept(db), within=30, what="the end of the sweep")

    gone = before - attic.ids()
    assert {rejected, unneeded, stopped, draft, delivered} < gone
    assert len(gone) == 6  # and the fact that stood in one document only
    assert {row["status"] for row in db.run("SELECT status FROM passport_versions")} == {"ACTIVE"}
    assert [each.part for each in replays(path)] == [None, None]
    [told] = applied(db)
    assert told["removed"] == {
        "builds": 1, "unsigned_versions": 0, "snapshots": 1, "documents": 2, "facts": 1, "deliveries": 1,
        "blobs": 2,
    }  # fmt: skip
    assert set(told["cut_offs"]) == {"drafts", "documents", "deliveries"}  # type: ignore[call-overload]
    assert path.call(verify).findings == []
    db.check_history()


def test_a_worker_that_is_killed_goes_on_and_every_row_is_told_once(db: Database, tmp_path: Path) -> None:
    """Killed in each page: pages are whole or not there, and the events add up to what was removed."""
    path = pipeline(db)
    with worker(db.url_as("bpc_worker")):
        version = built(path, battery(tmp_path / "1", "S-1"))
    path.call(lambda pipeline: activate(pipeline, str(version)))
    attic = attic_of(path)
    grow_old(db)
    many(attic, 350)
    db.run(
        "CREATE FUNCTION take_long() RETURNS trigger LANGUAGE plpgsql"
        " AS $$ BEGIN PERFORM pg_sleep(0.7); RETURN NULL; END $$"
    )
    db.run("CREATE TRIGGER take_long AFTER DELETE ON document_versions EXECUTE FUNCTION take_long()")
    db.enqueue("RETENTION_SWEEP")
    kills = 0
    settings = ALL | {"BPC_JOBS_LEASE_SECONDS": "5", "BPC_JOBS_LEASE_RENEW_SECONDS": "1"}
    while not swept(db):
        with worker(db.url_as("bpc_worker"), **settings) as running:
            if kills < 3:
                until(lambda: deleting(db), within=60, what="a page at work")
                running.send(signal.SIGKILL)
                running.wait(10)
                kills += 1
            else:
                until(lambda: swept(db), within=60, what="the rest in peace")

    told = applied(db)
    assert sum(each["removed"]["documents"] for each in told) == 350  # type: ignore[index]
    assert len(told) == 4
    assert left(db) == {"VALIDATED": 3}
    assert [each.part for each in replays(path)] == [None]
    assert path.call(verify).findings == []
    db.check_history()


def deleting(db: Database) -> bool:
    """Whether a sweep sleeps in the middle of its page."""
    return bool(
        db.run("SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()")
    )


def many(attic: Attic, count: int) -> None:
    name = attic.db.one("SELECT document_id FROM documents LIMIT 1")["document_id"]
    with attic.db.connect() as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute(
            "INSERT INTO document_versions"
            " (tenant_id, document_id, sha256, kind, mime_type, status, errors, created_at)"
            " SELECT %s, %s, sha256(n::text::bytea), 'BOM', 'text/csv', 'REJECTED', '[]',"
            "        now() - interval '5000 days'"
            " FROM generate_series(1, %s) AS n",
            [attic.domain.tenant_id, name, count],
        )


def left(db: Database) -> dict[object, object]:
    rows = db.run("SELECT status, count(*) AS n FROM document_versions GROUP BY status")
    return {row["status"]: row["n"] for row in rows}


def test_the_night_comes_by_itself_where_something_has_a_retention(db: Database) -> None:
    db.tenant()
    with worker(db.url_as("bpc_worker"), **ALL) as running:
        running.wait_ready()
        planned = until(
            lambda: db.run("SELECT name FROM schedule_ticks"), within=30, what="a plan for the night"
        )

    assert planned == [{"name": "retention"}]


def test_without_a_retention_a_sweep_says_what_to_set(db: Database) -> None:
    job = db.enqueue("RETENTION_SWEEP")
    with worker(db.url_as("bpc_worker")):
        until(lambda: db.job(job)["status"] == "FAILED", within=30, what="an answer")

    assert db.job(job)["fail_code"] == "CONFIG_MISSING"
    assert "retention.days" in str(db.job(job)["fail_reason"])
