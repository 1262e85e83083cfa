"""What a reap leaves alone after the server's clock has jumped."""

from bpc_worker.jobs.queue_settings import QueueSettings
from bpc_worker.postgres.dsn import Dsn
from bpc_worker.postgres.queue.store import PostgresJobs
from tests.support.database import Database


def left_by_a_dead_worker(db: Database, *, ended_seconds_ago: int) -> str:
    return str(
        db.one(
            "INSERT INTO jobs (tenant_id, type, status, attempts, lease_owner, lease_token, lease_expires_at)"
            " VALUES (%s, 'TEST_NOOP', 'RUNNING', 1, 'dead', gen_random_uuid(),"
            " now() - make_interval(secs => %s))"
            " RETURNING job_id",
            [db.tenant(), ended_seconds_ago],
        )["job_id"]
    )


async def test_what_ended_by_the_jump_alone_is_spared(db: Database) -> None:
    settings = QueueSettings(owner="w", types=("TEST_NOOP",), lease_seconds=60)
    store = PostgresJobs(Dsn(url=db.url_as("bpc_worker"), application_name="test"), settings)
    try:
        assert await store.reap() == []
        ahead = store._server_clock._ahead
        assert ahead is not None
        store._server_clock._ahead = ahead - 90  # as if the server had been 90 seconds behind a moment ago
        left_by_a_dead_worker(db, ended_seconds_ago=60)
        really = left_by_a_dead_worker(db, ended_seconds_ago=120)

        assert [str(each.job_id) for each in await store.reap()] == [really]
        assert await store.reap() == []
    finally:
        store.close()
