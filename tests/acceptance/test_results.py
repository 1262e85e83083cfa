"""What a job that succeeds leaves behind: its result, its hash, the jobs that follow."""

from tests.support.database import Database
from tests.support.history import moment, span, statuses
from tests.support.worker import until, worker


def test_jobs_of_a_chain_have_their_parent_and_its_tenant(db: Database) -> None:
    tenant = db.tenant("the parent's")
    with worker(db.url_as("bpc_worker")) as running:
        root = str(
            db.one(
                "INSERT INTO jobs (tenant_id, type, payload, correlation_id)"
                " VALUES (%s, 'TEST_FOLLOW', '{\"depth\": 3}', 'c-1') RETURNING job_id",
                [tenant],
            )["job_id"]
        )
        until(lambda: statuses(db) == {"SUCCEEDED": 4}, within=15)

        chain = db.run("SELECT * FROM jobs ORDER BY (payload ->> 'depth')::int DESC")
        assert [job["parent_job_id"] for job in chain] == [None, *(job["job_id"] for job in chain[:-1])]
        assert str(chain[0]["job_id"]) == root
        assert {str(job["tenant_id"]) for job in chain} == {tenant}
        assert {job["correlation_id"] for job in chain} == {"c-1"}
        assert [job["result"] for job in chain] == [{"depth": depth} for depth in (3, 2, 1, 0)]
        assert all(isinstance(job["spec_hash"], bytes) for job in chain)
        took = span(moment(chain[0], "started_at"), moment(chain[-1], "finished_at"))
        print(f"a chain of four took {took:.2f} s")
        assert running.stop() == 0
    db.check_history()


def test_the_hash_of_what_was_asked_for_is_filled_in(db: Database) -> None:
    """By the worker, whichever way a handler ends; equal work has equal hashes."""
    with worker(db.url_as("bpc_worker")) as running:
        returned = [db.enqueue("TEST_SLEEP", payload) for payload in ('{"seconds": 0}', '{"seconds":0}')]
        completed = db.enqueue("TEST_EFFECT", '{"key": "a"}')
        given = db.enqueue("TEST_NOOP", "{}", spec_hash=b"x" * 32)
        until(lambda: statuses(db) == {"SUCCEEDED": 4}, within=15)

        hashes = [db.job(job_id)["spec_hash"] for job_id in (*returned, completed, given)]
        assert hashes[0] == hashes[1]
        assert len({*hashes}) == 3
        assert all(isinstance(each, bytes) and len(each) == 32 for each in hashes)
        assert hashes[3] == b"x" * 32
        assert "'slept': True" in str(db.job(returned[0])["result"])
        assert running.stop() == 0
    db.check_history()
