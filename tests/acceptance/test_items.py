"""Batteries of one model from one list: by reference to the model, page by page, again after a stop."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date

from bpc_worker.pipeline.items import Versions, sizes, take_list
from tests.support import items
from tests.support.database import Database
from tests.support.pipeline import Pipeline, pipeline
from tests.support.worker import until, worker

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


def test_a_battery_has_its_models_facts_and_its_own_from_list_to_signature(db: Database) -> None:
    with working(db) as path:
        model = items.with_model(path)
        listed = items.sent(path, items.table(3), "SERIALS")

        taken(path, listed.document_version_id, versions=Versions("battery_core", LAW_DATE))
        until(
            lambda: db.run("SELECT FROM passport_versions WHERE status = 'SIGNED' HAVING count(*) = 3"),
            within=60,
            what="three signed versions",
        )

    rows = db.run("SELECT model_snapshot_id, snapshot_id FROM data_snapshots WHERE passport_id IS NOT NULL")
    assert [row["model_snapshot_id"] for row in rows] == [model] * 3
    owned = db.run(
        "SELECT f.fact_type, f.fact_key FROM snapshot_items JOIN facts f USING (fact_id)"
        " WHERE snapshot_id = %s ORDER BY 1, 2",
        [rows[0]["snapshot_id"]],
    )
    assert [(row["fact_type"], row["fact_key"]) for row in owned] == [
        ("Identity", "identity"),
        ("Value", "identity.batch"),
        ("Value", "identity.manufacturing_month"),
    ]


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
