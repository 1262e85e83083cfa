"""Builds whose folder changes, whose jobs are retried or cancelled, and that several people start at once."""

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

import pytest

from tests.support.database import Database
from tests.support.pipeline import EXAMPLE, Pipeline, pipeline
from tests.support.worker import Worker, until, worker

GOOD = (EXAMPLE / "bom.csv").read_text()
OTHER = GOOD.replace("49,250", "49,251")
BAD = GOOD.replace("49,250", "forty-nine")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The example, to be changed."""
    return shutil.copytree(EXAMPLE, tmp_path / "battery")


@contextmanager
def working(db: Database) -> Iterator[Worker]:
    with worker(db.url_as("bpc_worker"), BPC_JOBS_POLL_INTERVAL_MS=100) as running:
        yield running


def nickel(path: Pipeline, build: UUID) -> str:
    """The mass of the part that the tests change, in the facts that the build's passport was made from."""
    row = path.db.one(
        "SELECT f.payload ->> 'mass_kg' AS mass FROM passport_builds b"
        " JOIN snapshot_items i USING (snapshot_id) JOIN facts f USING (fact_id)"
        " WHERE b.build_id = %s AND f.fact_key = 'component:cathode-nickel'",
        [build],
    )
    return str(row["mass"])


def test_a_file_that_was_changed_back_is_what_the_passport_is_made_from(db: Database, folder: Path) -> None:
    path = pipeline(db)
    pcf = (folder / "pcf.json").read_text()
    (folder / "pcf.json").write_text(pcf.replace("3120.5", "much"))
    with working(db):
        build = path.build(folder)
        assert path.ended(build).state == "STOPPED"
        (folder / "bom.csv").write_text(OTHER)
        assert path.build(folder) == build
        assert path.ended(build).state == "STOPPED"
        (folder / "bom.csv").write_text(GOOD)
        (folder / "pcf.json").write_text(pcf)
        assert path.build(folder) == build
        assert path.ended(build).state == "DONE"
    assert nickel(path, build) == "49.250"


def test_a_mistake_that_is_made_again_stops_again(db: Database, folder: Path) -> None:
    path = pipeline(db)
    with working(db):
        for text in (BAD, BAD.replace("forty", "fifty"), BAD):
            (folder / "bom.csv").write_text(text)
            build = path.build(folder)
            stopped = path.ended(build)
            assert (stopped.state, len(stopped.errors or [])) == ("STOPPED", 1)
    told = db.run(
        "SELECT aggregate_id, payload ->> 'step' AS step, payload ->> 'code' AS code"
        " FROM events WHERE event_type = 'BUILD_STOPPED'"
    )
    assert told == [{"aggregate_id": build, "step": "DOCUMENTS", "code": "VALIDATION_ERROR"}] * 3


def test_a_corrected_declaration_is_another_version_of_the_same_bytes(db: Database, folder: Path) -> None:
    path = pipeline(db)
    recipe = (folder / "passport.yaml").read_text()
    (folder / "passport.yaml").write_text(recipe.replace('"1.234,56"', "null"))
    with working(db):
        build = path.build(folder)
        assert path.ended(build).state == "STOPPED"  # 49,250 is no number without a format
        (folder / "passport.yaml").write_text(recipe)
        assert path.build(folder) == build
        assert path.ended(build).state == "DONE"
    assert nickel(path, build) == "49.250"


def test_documents_that_change_after_the_snapshot_are_another_build(db: Database, folder: Path) -> None:
    path = pipeline(db)
    with working(db):
        first = path.build(folder)
        path.ended(first)
        (folder / "bom.csv").write_text(OTHER)
        second = path.build(folder)
        assert second != first
        assert path.ended(second).state == "DONE"
    assert (nickel(path, first), nickel(path, second)) == ("49.250", "49.251")


def test_a_failed_job_of_the_past_does_nothing_to_a_build_that_went_on(db: Database, folder: Path) -> None:
    path = pipeline(db)
    (folder / "bom.csv").write_text(BAD)
    with working(db):
        build = path.build(folder)
        path.ended(build)
        (folder / "bom.csv").write_text(GOOD)
        path.build(folder)
        assert path.ended(build).state == "DONE"
        [old] = db.run("SELECT job_id FROM jobs WHERE status = 'FAILED'")
        db.run("SELECT bpc_retry_job(%s)", [old["job_id"]])
        until(lambda: db.job(str(old["job_id"]))["status"] == "FAILED", within=20)
    assert (path.state(build).state, path.state(build).errors) == ("DONE", None)
    assert db.one("SELECT count(*) AS n FROM passport_versions")["n"] == 1


def test_a_build_whose_job_was_cancelled_goes_on_by_the_same_command(db: Database, folder: Path) -> None:
    path = pipeline(db)
    build = path.build(folder)
    db.run("SELECT bpc_cancel_job(job_id) FROM jobs WHERE payload ->> 'external_ref' = 'bom.csv'")
    with working(db):
        until(lambda: not db.run("SELECT FROM jobs WHERE status IN ('QUEUED', 'RUNNING')"), within=20)
        assert path.state(build).state == "DOCUMENTS"
        assert path.build(folder) == build
        assert path.ended(build).state == "DONE"


def test_people_who_start_the_same_build_at_once_share_it(db: Database, folder: Path) -> None:
    path = pipeline(db)
    path.db.url_as("bpc_app")  # the login is made once
    with ThreadPoolExecutor(4) as people:
        builds = set(people.map(lambda _: path.build(folder), range(4)))
    with working(db):
        assert len(builds) == 1
        assert path.ended(builds.pop()).state == "DONE"
    assert db.one("SELECT count(*) AS n FROM passport_versions")["n"] == 1


def test_a_passport_that_cannot_be_compiled_stops_the_build_with_the_reason(
    db: Database, folder: Path
) -> None:
    path = pipeline(db)
    battery = (folder / "battery.json").read_text()
    (folder / "battery.json").write_text(battery.replace('"category": "EV"', '"category": "BOAT"'))
    with working(db):
        stopped = path.ended(path.build(folder))
    assert stopped.state == "STOPPED"
    assert "CATEGORY_UNKNOWN" in str(stopped.errors) or "category" in str(stopped.errors)


def test_an_assertion_that_fails_is_told_with_the_value_its_field_and_its_document(
    db: Database, folder: Path
) -> None:
    rules = (
        'field weight: Qty(kg) for public = let mass = declared(kg, "composition.mass_kg");\n'
        '  assert(mass > qty(500, kg), "HEAVY", "a battery is heavy"); mass;'
    )
    path = pipeline(db, rules=rules)
    with working(db):
        stopped = path.ended(path.build(folder))
    told = str(stopped.errors)
    [job] = db.run("SELECT last_error::text, fail_reason FROM jobs WHERE status = 'FAILED'")

    assert stopped.state == "STOPPED"
    assert "HEAVY: a battery is heavy (line 2, column 3)" in told
    assert "field: weight" in told
    assert "Value composition.mass_kg = 400" in told
    assert "battery.json at /battery/mass_kg" in told
    assert "field: weight" in str(job)
    assert "400" not in str(job)  # the queue is not the place for a supplier's figures
