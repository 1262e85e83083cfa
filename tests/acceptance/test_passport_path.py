"""Documents in, signed passport out: the whole path on a real worker."""

import json
from pathlib import Path

import psycopg

from bpc_worker.core.passport.qr_text import parse as parse_qr
from tests.support.chains import check_chains
from tests.support.database import Database
from tests.support.picture import picture
from tests.support.pipeline import EXAMPLE, pipeline
from tests.support.worker import until, worker


def test_a_folder_of_documents_becomes_a_signed_passport_with_its_code(db: Database) -> None:
    path = pipeline(db)
    build = path.build()
    with worker(db.url_as("bpc_worker")):
        state = path.ended(build)
    assert (state.state, state.errors) == ("DONE", None)
    version = path.version(build)
    assert version["status"] == "SIGNED"
    assert version["qr_payload"] is not None
    assert str(parse_qr(str(version["qr_payload"])).passport_version_id) == str(state.passport_version_id)
    db.check_history()


def test_the_same_folder_again_is_the_same_passport(db: Database) -> None:
    path = pipeline(db)
    with worker(db.url_as("bpc_worker")):
        build = path.build()
        path.ended(build)
        assert path.build() == build
        another = path.build(again=True)
        assert another != build
        assert path.ended(another).state == "DONE"
    assert path.version(another)["passport_version_id"] != path.version(build)["passport_version_id"]
    one, other = (json.loads(bytes(path.version(each)["payload"])) for each in (build, another))
    assert one.pop("salt") != other.pop("salt")
    assert one == other


def test_a_rejected_document_stops_the_build_and_a_replaced_one_goes_on(db: Database, tmp_path: Path) -> None:
    path = pipeline(db)
    for file in EXAMPLE.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    good = (tmp_path / "bom.csv").read_text()
    (tmp_path / "bom.csv").write_text(good.replace("49,250", "forty-nine"))
    with worker(db.url_as("bpc_worker")):
        build = path.build(tmp_path)
        stopped = path.ended(build)
        assert stopped.state == "STOPPED"
        assert stopped.errors is not None
        assert stopped.errors[0]["document"] == "bom.csv"
        assert "line 2" in str(stopped.errors[0]["where"])
        (tmp_path / "bom.csv").write_text(good)
        assert path.build(tmp_path) == build
        assert path.ended(build).state == "DONE"
    db.check_history()


def test_every_step_run_twice_changes_nothing(db: Database) -> None:
    """As after a restore of the queue alone: every job that has succeeded is there again as queued."""
    path = pipeline(db)
    with worker(db.url_as("bpc_worker"), BPC_JOBS_POLL_INTERVAL_MS=100):
        path.ended(path.build())
        before = picture(db)
        requeue_everything(db)
        until(lambda: not db.run("SELECT FROM jobs WHERE status <> 'SUCCEEDED'"), within=60, what="all again")
    assert picture(db) == before
    assert check_chains(db) == 7  # three documents, a snapshot, a passport, a key, rules


def requeue_everything(db: Database) -> None:
    with db.connect() as connection:
        connection.execute("SET session_replication_role = replica")  # no guard lets this happen otherwise
        connection.execute(
            "UPDATE jobs SET status = 'QUEUED', attempts = 0, finished_at = NULL, lease_token = NULL"
        )


def test_two_last_documents_read_at_the_same_moment_both_go_on(db: Database) -> None:
    """Both transactions wait for the build's row, which is held until both are there."""
    path = pipeline(db)
    build = path.build()
    with psycopg.connect(db.url) as holder, worker(db.url_as("bpc_worker"), BPC_JOBS_POLL_INTERVAL_MS=100):
        until(lambda: path.state(build).documents[0]["status"] != "WAITING", within=30, every=0.01)
        until(lambda: queued_or_running(db, "INGEST_DOCUMENT") == 0, within=30, every=0.01)
        holder.execute("SELECT FROM passport_builds FOR UPDATE")
        until(lambda: waiting_for_a_row(db) >= 1, within=30, what="a transaction that waits", every=0.01)
        holder.rollback()
        assert path.ended(build).state == "DONE"
    assert db.one("SELECT count(*) AS n FROM data_snapshots")["n"] == 1
    db.check_history()


def queued_or_running(db: Database, job_type: str) -> object:
    return db.one(
        "SELECT count(*) AS n FROM jobs WHERE type = %s AND status IN ('QUEUED', 'RUNNING')", [job_type]
    )["n"]


def waiting_for_a_row(db: Database) -> int:
    row = db.one("SELECT count(*) AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
    return int(str(row["n"]))


def test_a_build_of_known_bytes_goes_on(db: Database) -> None:
    path = pipeline(db)
    with worker(db.url_as("bpc_worker"), BPC_JOBS_POLL_INTERVAL_MS=100):
        first, second = path.build(), None
        path.ended(first)
        second = path.build(again=True)
        assert path.ended(second).state == "DONE"
    parsed = db.one("SELECT count(*) AS n FROM jobs WHERE type = 'PARSE_FACTS'")["n"]
    assert parsed == 3, "what was read once is not read again"
    db.check_history()
