"""How often a job died, as RECORD_DEAD_LETTER reads it."""

from bpc_worker.postgres.sql_files import query
from tests.support.database import Database


def test_of_a_job_that_died_very_often_the_last_hundred_deaths_are_read(db: Database) -> None:
    job_id = db.enqueue("TEST_A")
    db.run(
        "INSERT INTO job_events (job_id, at, type, data) SELECT %s, now() + n * interval '1 s',"
        " 'job:dead_lettered', jsonb_build_object('attempt', n) FROM generate_series(1, 150) AS n",
        [job_id],
    )
    deaths = db.run(query("jobs/deaths").decode(), {"job_id": job_id, "tenant_id": db.tenant()})

    assert [death["attempt"] for death in deaths] == list(range(51, 151))
