"""Batteries of one model from one list: by reference to the model, page by page, again after a stop."""

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from functools import partial
from pathlib import Path

from bpc_worker.pipeline.items import Versions, sizes, take_list
from bpc_worker.pipeline.replays import replay_version
from bpc_worker.pipeline.stored import read_version
from tests.acceptance.test_stranger import check
from tests.support import items
from tests.support.database import Database
from tests.support.pipeline import Pipeline, pipeline
from tests.support.worker import command, until, worker

LAW_DATE = date(2027, 2, 18)


@contextmanager
def working(db: Database) -> Iterator[Pipeline]:
    path = pipeline(db, rules=items.RULES)
    with worker(db.url_as("bpc_worker"), BPC_JOBS_POLL_INTERVAL_MS=100):
        yield path


def taken(path: Pipeline, document: object, *, versions: Versions | None = None) -> int:
    """The number of jobs, once all snapshots are there."""
    jobs = path.call(lambda pipeline: take_list(pipeline, items.PRODUCT, str(document), versions=versions))
    until(
        lambda: path.db.run(
            "SELECT count(*) FROM jobs WHERE job_id = ANY (%s) AND status = 'SUCCEEDED' HAVING count(*) = %s",
            [jobs, len(jobs)],
        ),
        within=60,
        what="the snapshots",
    )
    return len(jobs)


def test_a_battery_has_its_models_facts_and_its_own_from_list_to_signature(
    db: Database, tmp_path: Path
) -> None:
    header, *rows = items.table(3).splitlines()
    heavy = "\n".join([f"{header};mass_kg", f"{rows[0]};401", f"{rows[1]};", f"{rows[2]};"]) + "\n"
    with working(db) as path:
        model = items.with_model(path)
        listed = items.sent(path, heavy, "SERIALS")

        taken(path, listed.document_version_id, versions=Versions("battery_core", LAW_DATE))
        until(
            lambda: db.run("SELECT FROM passport_versions WHERE qr_payload IS NOT NULL HAVING count(*) = 3"),
            within=60,
            what="three signed versions",
        )
    versions = {
        str(row["serial"]): row
        for row in db.run(
            "SELECT p.serial, v.passport_version_id, s.model_snapshot_id, s.snapshot_id,"
            " convert_from(v.payload, 'UTF8')::jsonb #>> '{fields,composition,mass}' AS mass"
            " FROM passport_versions v JOIN passports p USING (passport_id)"
            " JOIN data_snapshots s ON s.snapshot_id = v.snapshot_id"
        )
    }
    assert {serial: row["mass"] for serial, row in versions.items()} == {
        "SN-000001": "401", "SN-000002": "400", "SN-000003": "400",
    }  # fmt: skip
    assert {row["model_snapshot_id"] for row in versions.values()} == {model}
    assert owned(db, versions["SN-000002"]["snapshot_id"]) == [
        ("Identity", "identity"),
        ("Value", "identity.batch"),
        ("Value", "identity.manufacturing_month"),
    ]
    for serial, row in versions.items():
        replayed = path.call(partial(replay_version, wanted=serial))
        assert replayed.part is None, replayed.message
        held, said = check(exported(db, row["passport_version_id"], tmp_path / serial))
        assert held, said
        assert "ok  facts: those of the model" in said


def test_a_number_is_followed_to_the_row_of_its_battery(db: Database) -> None:
    with working(db) as path:
        items.with_model(path)
        listed = items.sent(path, items.table(3), "SERIALS")
        taken(path, listed.document_version_id, versions=Versions("battery_core", LAW_DATE))
        until(
            lambda: db.run("SELECT FROM passport_versions WHERE qr_payload IS NOT NULL HAVING count(*) = 3"),
            within=60,
            what="three signed versions",
        )
        found = path.call(lambda pipeline: read_version(pipeline, "SN-000002"))

    places = found.places()
    [batch] = places["Value", "identity.batch"]
    [mass] = places["Value", "composition.mass_kg"]
    assert batch.startswith("list.csv 3:3 ")
    assert mass.startswith("model.csv 3:2 ")


def owned(db: Database, snapshot_id: object) -> list[tuple[object, object]]:
    rows = db.run(
        "SELECT f.fact_type, f.fact_key FROM snapshot_items JOIN facts f USING (fact_id)"
        " WHERE snapshot_id = %s ORDER BY 1, 2",
        [snapshot_id],
    )
    return [(row["fact_type"], row["fact_key"]) for row in rows]


def exported(db: Database, version: object, folder: Path) -> Path:
    """Its bundle, unpacked."""
    folder.mkdir()
    name = folder / "passport.zip"
    done = command(
        db.url_as("bpc_app"), "passport", "export", str(version), "--out", str(name), "--tenant", "acme"
    )
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(name) as archive:
        archive.extractall(folder)
    return folder


def test_a_list_that_is_taken_again_makes_nothing_new(db: Database) -> None:
    with working(db) as path:
        items.with_model(path)
        listed = items.sent(path, items.table(600), "SERIALS").document_version_id

        assert taken(path, listed) == 3
        assert taken(path, listed) == 3

        found = path.call(lambda pipeline: sizes(pipeline, str(listed)))
    rows = {each.of: each.rows for each in found}
    assert rows["passports"] == rows["data_snapshots"] == rows["events"] == 600
    assert rows["snapshot_items"] == 1800
    assert rows["facts"] == 600 + 8  # each its Identity; seven batches and one month
