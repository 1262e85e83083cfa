"""What only the queue in PostgreSQL does: rows that others hold, answers that get lost, late statements."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from bpc_worker.jobs.errors import Code, Unavailable
from bpc_worker.jobs.model import Done, Fate, JobId, Status
from bpc_worker.jobs.store import Heartbeat, Look
from bpc_worker.postgres.queue.claims import _UnconfirmedClaim
from bpc_worker.postgres.sql_files import Prepared, query
from bpc_worker.testing import NOON, FakeClock
from tests.contract.conftest import LEASE_SECONDS, SETTINGS
from tests.support.database import Database
from tests.support.stores import Bench, PostgresSide, settled, tenant_number
from tests.support.worker import until


@pytest.fixture
async def side(db: Database) -> AsyncIterator[PostgresSide]:
    side = PostgresSide(SETTINGS, FakeClock(), db)
    yield side
    side.close()
    if db.run("SELECT 1 FROM job_history LIMIT 1"):
        db.check_history(nothing_left=False)


@pytest.fixture
def bench(side: PostgresSide) -> Bench:
    side.tenant(tenant_number(1))
    return Bench(side, tenant_number(1), side.clock)


async def test_ids_of_ours_are_time_ordered(bench: Bench, side: PostgresSide) -> None:
    job_id = await bench.add()

    assert job_id.version == 7
    assert side.db.one("SELECT bpc_uuid_v7() AS id")["id"].version == 7  # type: ignore[attr-defined]  # a UUID


async def test_a_renewal_knows_lost_settled_and_locked_apart(bench: Bench, side: PostgresSide) -> None:
    for _ in range(3):
        await bench.add()
    lost, settled, locked = await bench.claim()
    assert await bench.settle(settled, Done()) is Status.SUCCEEDED
    side.db.run("UPDATE jobs SET lease_token = gen_random_uuid() WHERE job_id = %s", [lost.job_id])
    with side.db.connect() as holder, holder.transaction():
        holder.execute("SELECT FROM jobs WHERE job_id = %s FOR UPDATE", [locked.job_id])
        renewal = await bench.store.renew(
            [Heartbeat(each.job_id, each.lease_token) for each in (lost, settled, locked)]
        )
    side.db.run("TRUNCATE job_history")  # the stolen token above is no legal history

    assert renewal.missing == {
        lost.lease_token: Fate.LOST,
        settled.lease_token: Fate.SETTLED,
        locked.lease_token: Fate.LOCKED,
    }


async def test_a_claim_whose_answer_was_lost_is_undone(bench: Bench, side: PostgresSide) -> None:
    job_id = await bench.add()
    await bench.claim()
    nonce = uuid4()
    token = (
        "encode(substring(sha256(convert_to(%s::text || job_id::text, 'UTF8')) FROM 1 FOR 16), 'hex')::uuid"
    )
    side.db.run(f"UPDATE jobs SET lease_token = {token} WHERE job_id = %s", [str(nonce), job_id])
    side.db.run("TRUNCATE job_history")
    side.store.claims._unconfirmed[nonce] = _UnconfirmedClaim()
    await bench.store.release_unconfirmed_claims()
    [again] = await bench.claim()

    assert (again.job_id, again.attempts) == (job_id, 1)
    assert bench.side.events(job_id) == ["job:released"]


async def test_a_late_reap_does_nothing(bench: Bench, side: PostgresSide) -> None:
    """A statement that a stopped server executes long after it was sent must not take anybody's job."""
    await bench.add()
    await bench.claim()
    bench.side.advance(LEASE_SECONDS)
    params: dict[str, Any] = {"page": 100, "backoff_base": 2.0, "backoff_max": 1024.0, "within_seconds": 5.0}
    params |= {"ended_for": 0.0, "max_snoozes": 100, "since": None}
    reap = query("jobs/reap").decode()
    late = side.db.run(reap, params | {"now": bench.clock.now, "asked_at": NOON})
    soon = side.db.run(reap, params | {"now": bench.clock.now, "asked_at": bench.clock.now})

    assert late == []
    assert len(soon) == 1


async def test_a_row_that_somebody_has_locked_is_missing_from_its_group(
    bench: Bench, side: PostgresSide
) -> None:
    for _ in range(2):
        await bench.add()
    free, locked = await bench.claim()
    with side.db.connect() as holder, holder.transaction():
        holder.execute("SELECT FROM jobs WHERE job_id = %s FOR UPDATE", [locked.job_id])
        answer = await bench.store.settle_group([(claim, settled(claim, Done())) for claim in (free, locked)])

    assert answer == {free.lease_token: Status.SUCCEEDED}
    assert await bench.settle(locked, Done()) is Status.SUCCEEDED


async def test_a_claim_passes_over_rows_that_somebody_has_locked(bench: Bench, side: PostgresSide) -> None:
    locked, free = [await bench.add() for _ in range(2)]
    with side.db.connect() as holder, holder.transaction():
        holder.execute("SELECT FROM jobs WHERE job_id = %s FOR UPDATE", [locked])
        claims = await bench.claim(1)

    assert [claim.job_id for claim in claims] == [free]


async def test_a_claim_whose_answer_never_came_is_undone(
    bench: Bench, side: PostgresSide, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = await bench.add()
    ask = side.store.claims._link.tuples

    async def lose(statement: Prepared, params: Mapping[str, object], *, timeout: float) -> list[Any]:
        await ask(statement, params, timeout=timeout)
        raise Unavailable(Code.DB_UNAVAILABLE, "the answer is lost")

    with monkeypatch.context() as losing:
        losing.setattr(side.store.claims._link, "tuples", lose)
        with pytest.raises(Unavailable):
            await bench.look()
    assert bench.side.row(job_id)["status"] == "RUNNING"
    await bench.store.release_unconfirmed_claims()
    [again] = await bench.claim()

    assert (again.job_id, again.attempts) == (job_id, 1)


async def test_two_workers_never_take_the_same(bench: Bench, side: PostgresSide) -> None:
    jobs, found = [], []
    for number in range(60):
        jobs += [await bench.add() for _ in range(1 + number % 3)]
        looks = await asyncio.gather(*(store.claim(limit=10) for store in (side.store, side.other)))
        found += [claim.job_id for look in looks for claim in look.claims]

    assert sorted(found) == sorted(jobs)


def postpone_while_others_are_locked(db: Database, job_id: JobId, looking: asyncio.Task[Look]) -> bool:
    """Whether it could be done before the claim, which had locked its first job, came to this one."""
    locks = "SELECT FROM pg_stat_activity WHERE backend_xid IS NOT NULL AND query LIKE %s"
    postpone = "UPDATE jobs SET scheduled_at = %s WHERE job_id = %s AND status = 'QUEUED' RETURNING job_id"
    with db.connect() as connection:
        until(
            lambda: looking.done() or connection.execute(locks, ["-- Take up to%"]).fetchall(),
            within=10, what="a claim", every=0,
        )  # fmt: skip
        return bool(connection.execute(postpone, [NOON + timedelta(days=1), job_id]).fetchall())


async def test_what_changed_since_it_was_read_is_not_taken(bench: Bench, side: PostgresSide) -> None:
    """Thousands of pauses make it slow to look at a job."""
    side.db.run(
        "INSERT INTO job_pauses (kind, name, reason)"
        " SELECT 'tenant', number, 'many' FROM generate_series(1, 30000) AS number"
    )
    for _ in range(20):
        jobs = [await bench.add() for _ in range(40)]
        looking = asyncio.create_task(bench.look(40))
        postponed = await asyncio.to_thread(postpone_while_others_are_locked, side.db, jobs[-1], looking)
        look = await looking
        assert {claim.job_id for claim in look.claims} == set(jobs[: len(jobs) - postponed])
        if postponed:
            break
    else:
        pytest.fail("never was one postponed in between")
