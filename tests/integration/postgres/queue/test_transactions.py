"""The completing transaction: a handler's rows and the end of its job, both or neither, in one trip."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from math import inf

import pytest

from bpc_worker.engine.lease import Lease, StopReason
from bpc_worker.handler_api import Permanent
from bpc_worker.jobs.backoff import Backoff
from bpc_worker.jobs.errors import LeaseLost, RunAgain
from bpc_worker.jobs.model import Done, NewJob, Status
from bpc_worker.jobs.queue_settings import QueueSettings
from bpc_worker.jobs.settlement import Settlement, settlement
from bpc_worker.postgres.dsn import Dsn
from bpc_worker.postgres.queue.session import Session
from bpc_worker.postgres.queue.store import PostgresJobs
from bpc_worker.postgres.queue.transactions import LinkPool, Transactions
from bpc_worker.testing import an_id
from tests.support.database import Database
from tests.support.outages import through
from tests.support.tcp_proxy import TcpProxy

SETTINGS = QueueSettings(owner="worker-1", types=("TEST_EFFECT",))
EFFECT = "INSERT INTO test_effects (job_id, key, attempt, pid) VALUES (%(job_id)s, 'a', 1, 1)"
NO_ENDPOINT = {"tenant_id": an_id(1), "webhook_endpoint_id": an_id(2)}


@dataclass
class Work:
    """One claimed job, and the way to complete it."""

    db: Database
    store: PostgresJobs
    transactions: Transactions
    holding: Lease

    @property
    def settlement(self) -> Settlement:
        return settlement(self.holding.claim, Done(), backoff=Backoff(), dice=0.0)

    async def write(self, tx: Session) -> None:
        tx.send("webhooks/works", NO_ENDPOINT)
        await tx.execute(EFFECT, {"job_id": self.holding.claim.job_id})
        tx.send("webhooks/works", NO_ENDPOINT)

    async def complete(self) -> tuple[Status, tuple[NewJob, ...]]:
        return await self.transactions.complete(self.holding, self.settlement, self.write)

    @property
    def found(self) -> tuple[object, int]:
        """The job's status, and its effects."""
        row = self.db.job(str(self.holding.claim.job_id))
        return row["status"], len(self.db.run("SELECT FROM test_effects"))


@pytest.fixture(params=[True, False], ids=["prepared", "behind a pooler"])
async def work(db: Database, proxy: TcpProxy, request: pytest.FixtureRequest) -> AsyncIterator[Work]:
    dsn = Dsn(url=through(proxy, db.url), application_name="test", prepared_statements=request.param)
    store = PostgresJobs(Dsn(url=db.url, application_name="test"), SETTINGS)
    db.enqueue("TEST_EFFECT")
    [claim] = (await store.claim(limit=1)).claims
    pool = LinkPool(dsn, 2)
    transactions = Transactions(pool, SETTINGS, timeout=5, statement_timeout=5)
    yield Work(db, store, transactions, Lease(claim, proven_until=inf))
    pool.close()
    store.close()


async def test_rows_follow_ups_and_the_end_are_one_transaction(work: Work) -> None:
    async def write(tx: Session) -> None:
        await work.write(tx)
        await tx.enqueue(NewJob(type="TEST_NOOP"))

    status, follow_ups = await work.transactions.complete(work.holding, work.settlement, write)

    assert (status, [job.type for job in follow_ups]) == (Status.SUCCEEDED, ["TEST_NOOP"])
    assert work.found == ("SUCCEEDED", 1)
    assert work.db.one("SELECT count(*) AS n FROM jobs WHERE type = 'TEST_NOOP'")["n"] == 1


async def test_again_and_again_over_the_same_connection(work: Work) -> None:
    for _ in range(8):
        assert await work.transactions.read(work.holding.claim, "schema/pulse", {})
        async with work.transactions.reading(work.holding.claim) as reading:
            assert await reading.execute("SELECT current_setting('bpc.tenant_id') AS it") == [
                {"it": str(work.holding.claim.tenant_id)}
            ]
    assert await work.complete() == (Status.SUCCEEDED, ())


async def test_a_reading_writes_nothing(work: Work) -> None:
    with pytest.raises(Exception, match="read-only transaction"):
        async with work.transactions.reading(work.holding.claim) as reading:
            await reading.execute(EFFECT, {"job_id": work.holding.claim.job_id})

    assert work.found == ("RUNNING", 0)


async def test_whose_lease_is_gone_keeps_nothing(work: Work) -> None:
    work.db.run("UPDATE jobs SET lease_token = gen_random_uuid()")
    with pytest.raises(LeaseLost):
        await work.complete()

    assert work.found == ("RUNNING", 0)


async def test_whoever_was_stopped_keeps_nothing(work: Work) -> None:
    work.holding.stop(StopReason.CANCEL)
    with pytest.raises(LeaseLost):
        await work.complete()

    assert work.found == ("RUNNING", 0)


async def test_what_was_settled_by_a_run_whose_answer_was_lost_is_not_written_twice(work: Work) -> None:
    """The COMMIT of that run came so late that its row was still ours when it was asked."""
    await work.store.settle(work.holding.claim, work.settlement)

    assert await work.complete() == (Status.SUCCEEDED, ())
    assert work.found == ("SUCCEEDED", 0)


async def test_a_lost_answer_to_the_commit_is_found_out(work: Work, proxy: TcpProxy) -> None:
    proxy.lose_commit_answers(1)

    assert await work.complete() == (Status.SUCCEEDED, ())
    assert proxy.commits_lost == 1
    assert work.found == ("SUCCEEDED", 1)


async def test_a_statement_that_divides_by_zero_is_no_lost_lease(work: Work) -> None:
    async def write(tx: Session) -> None:
        await work.write(tx)
        await tx.execute("SELECT 1 / 0")

    with pytest.raises(Permanent, match="22012"):
        await work.transactions.complete(work.holding, work.settlement, write)
    assert work.found == ("RUNNING", 0)


async def test_what_is_sent_and_fails_takes_everything_with_it(work: Work) -> None:
    async def write(tx: Session) -> None:
        await work.write(tx)
        tx.send("webhooks/works", NO_ENDPOINT | {"tenant_id": "not an id"})

    with pytest.raises(Permanent, match="22P02"):
        await work.transactions.complete(work.holding, work.settlement, write)
    assert work.found == ("RUNNING", 0)


async def test_a_transaction_that_met_another_one_is_run_again(work: Work) -> None:
    runs = []

    async def write(tx: Session) -> None:
        runs.append(1)
        await work.write(tx)
        if len(runs) == 1:
            raise RunAgain("40001", "met another one")

    assert await work.transactions.complete(work.holding, work.settlement, write) == (Status.SUCCEEDED, ())
    assert (len(runs), work.found) == (2, ("SUCCEEDED", 1))
