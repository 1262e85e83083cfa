"""Where little is queued a claim takes all that is due, by a statement of its own; else it chooses."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from datetime import timedelta
from typing import Any

import pytest

from bpc_worker.jobs.errors import Code, Unavailable
from bpc_worker.jobs.model import JobId, Priority
from bpc_worker.jobs.store import Look, Pause, PauseKind
from bpc_worker.postgres.queue import claims
from bpc_worker.postgres.queue.all_due import FEW
from bpc_worker.postgres.sql_files import Prepared, prepared
from bpc_worker.testing import NOON, FakeClock
from tests.contract.conftest import LEASE_SECONDS, SETTINGS
from tests.contract.test_claims import a_suspect
from tests.support.database import Database
from tests.support.stores import Bench, PostgresSide, tenant_number
from tests.support.worker import until

ALL_DUE = [prepared("jobs/claim_all_due", *parts) for parts in ((), ("suspects",))]


class Wire:
    """The store's connection for claims: what went over it, and how often an answer gets lost."""

    def __init__(self, side: PostgresSide) -> None:
        self._tuples = side.store.claims._link.tuples
        self.ways: list[str] = []
        self.losing = 0

    async def tuples(
        self, statement: Prepared, params: Mapping[str, object], *, timeout: float
    ) -> list[tuple[Any, ...]]:
        self.ways.append("all due" if statement in ALL_DUE else "in order")
        rows = await self._tuples(statement, params, timeout=timeout)
        if self.losing:
            self.losing -= 1
            raise Unavailable(Code.DB_UNAVAILABLE, "the answer is lost")
        return rows

    def new_ways(self) -> list[str]:
        ways, self.ways = self.ways, []
        return ways


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


@pytest.fixture
async def wire(bench: Bench, side: PostgresSide, monkeypatch: pytest.MonkeyPatch) -> Wire:
    """After the first claim, which begins with the oldest; however slow the machine is."""
    monkeypatch.setattr(claims, "LONG", 60.0)
    await bench.claim()
    wire = Wire(side)
    monkeypatch.setattr(side.store.claims._link, "tuples", wire.tuples)
    return wire


def ids(look: Look) -> list[JobId]:
    return [claim.job_id for claim in look.claims]


def queue_later(db: Database, count: int, job_type: str = "TEST_NOOP") -> None:
    db.run(
        "INSERT INTO jobs (tenant_id, type, scheduled_at)"
        " SELECT (SELECT tenant_id FROM tenants LIMIT 1), %s, %s FROM generate_series(1, %s)",
        [job_type, NOON + timedelta(days=1), count],
    )


async def test_a_job_in_an_empty_queue_is_taken_so(bench: Bench, wire: Wire) -> None:
    job_id = await bench.add()
    look = await bench.look()

    assert (ids(look), look.more, look.next_due_in) == ([job_id], False, None)
    assert look.claims[0].attempts == 1
    assert bench.side.row(job_id)["lease_token"] == look.claims[0].lease_token
    assert ids(await bench.look(idle=False)) == []
    assert wire.ways == ["all due", "all due"]


@pytest.mark.parametrize("kind", list(PauseKind))
async def test_what_is_paused_stays(bench: Bench, wire: Wire, kind: PauseKind) -> None:
    bench.side.tenant(tenant_number(7))
    name = {"queue": "second", "type": "TEST_EFFECT", "tenant": str(tenant_number(7))}[kind]
    await bench.add("TEST_EFFECT", queue="second", tenant=tenant_number(7))
    free = await bench.add()
    await bench.store.pause(Pause(kind=kind, name=name, reason="told to"))
    first, second = await bench.look(), await bench.look()

    assert ids(first) == [free]
    assert ids(second) == []
    assert not first.more
    assert not second.more
    assert wire.ways == ["all due", "all due"]


@pytest.mark.parametrize("kind", list(PauseKind))
async def test_only_a_paused_tenant_is_waited_for(bench: Bench, wire: Wire, kind: PauseKind) -> None:
    """As by the ordinary claim."""
    name = {"queue": "default", "type": "TEST_NOOP", "tenant": str(bench.tenant)}[kind]
    await bench.add(delay_seconds=30)
    await bench.store.pause(Pause(kind=kind, name=name, reason="told to"))

    assert (await bench.look()).next_due_in == (30 if kind is PauseKind.TENANT else None)
    assert wire.ways == ["all due"]


async def test_what_is_foreign_stays(bench: Bench, wire: Wire) -> None:
    await bench.add("OTHER_TYPE")
    await bench.add(queue="elsewhere")
    await bench.add("OTHER_TYPE", delay_seconds=5)
    look = await bench.look()

    assert (ids(look), look.more, look.next_due_in) == ([], False, None)
    assert wire.ways == ["all due"]


async def test_what_is_not_due_stays_and_is_announced(bench: Bench, wire: Wire) -> None:
    await bench.add(delay_seconds=90)
    await bench.add(delay_seconds=30)
    before = await bench.look()
    due = await bench.add()
    after = await bench.look()

    assert (ids(before), before.next_due_in) == ([], 30)
    assert (ids(after), after.next_due_in) == ([due], None)
    assert wire.ways == ["all due", "all due"]


async def test_a_suspect_is_claimed_alone(bench: Bench, wire: Wire) -> None:
    suspect = await a_suspect(bench)
    wire.new_ways()
    await bench.add(priority=Priority.CRITICAL)
    look = await bench.look()

    assert ids(look) == [suspect]
    assert look.claims[0].suspect
    assert wire.ways == ["all due", "in order"]


async def test_a_busy_worker_takes_what_is_beside_a_suspect(bench: Bench, wire: Wire) -> None:
    await a_suspect(bench)
    wire.new_ways()
    other = await bench.add()

    assert ids(await bench.look(idle=False)) == [other]
    assert wire.ways == ["all due"]


async def test_who_died_once_is_no_suspect(bench: Bench, wire: Wire) -> None:
    job_id = await bench.add()
    await bench.claim()
    bench.side.advance(LEASE_SECONDS)
    await bench.store.reap()
    bench.side.advance(10)
    [claim] = await bench.claim()

    assert (claim.job_id, claim.attempts, claim.suspect) == (job_id, 2, False)
    assert wire.ways == ["all due", "all due"]


async def test_what_somebody_has_locked_is_passed_over(
    bench: Bench,
    side: PostgresSide,
    wire: Wire,
) -> None:
    locked, free = [await bench.add() for _ in range(2)]
    with side.db.connect() as holder, holder.transaction():
        holder.execute("SELECT FROM jobs WHERE job_id = %s FOR UPDATE", [locked])
        look = await bench.look()

    assert (ids(look), look.more) == ([free], True)
    assert wire.ways == ["all due"]


async def test_as_many_as_fit_are_taken_and_of_more_the_first(bench: Bench, wire: Wire) -> None:
    normal = [await bench.add() for _ in range(3)]

    fitting = await bench.look(3)
    assert (ids(fitting), fitting.more) == (normal, False)
    assert wire.new_ways() == ["all due"]
    normal = [await bench.add() for _ in range(3)]
    high = await bench.add(priority=Priority.HIGH)
    chosen = await bench.look(3)
    assert (ids(chosen), chosen.more) == ([high, *normal[:2]], True)
    assert wire.new_ways() == ["all due", "in order"]


async def test_a_cap_is_kept(bench: Bench, wire: Wire) -> None:
    async def capped(cap: int) -> list[JobId]:
        return ids(await bench.store.claim(limit=4, idle=True, caps={frozenset(["TEST_NOOP"]): cap}))

    jobs = [await bench.add() for _ in range(3)]

    assert await capped(0) == []
    assert wire.new_ways() == ["in order"]
    assert await capped(2) == jobs[:2]
    assert wire.new_ways() == ["all due", "in order"]
    assert await capped(1) == jobs[2:]  # after a try that did not pay one is left out
    assert wire.new_ways() == ["in order"]
    jobs = [await bench.add() for _ in range(2)]
    assert await capped(2) == jobs
    assert wire.new_ways() == ["all due"]


async def test_where_much_is_queued_it_is_tried_less_and_less(
    bench: Bench,
    side: PostgresSide,
    wire: Wire,
) -> None:
    queue_later(side.db, FEW - 1, "OTHER_TYPE")
    few = await bench.add()
    assert ids(await bench.look()) == [few]
    assert wire.new_ways() == ["all due"]

    queue_later(side.db, 1)
    one_more = await bench.add()
    assert ids(await bench.look()) == [one_more]
    assert wire.new_ways() == ["all due", "in order"]
    for _ in range(4):
        job_id = await bench.add()
        assert ids(await bench.look()) == [job_id]
    assert wire.ways == ["in order", "all due", "in order", "in order", "in order"]


async def test_one_that_takes_long_is_not_repeated_at_once(
    bench: Bench,
    wire: Wire,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(claims, "LONG", 0.0)
    jobs = [await bench.add()]

    assert ids(await bench.look()) == jobs
    await bench.look()
    assert wire.ways == ["all due", "in order"]


async def test_two_workers_never_take_the_same(bench: Bench, side: PostgresSide, wire: Wire) -> None:
    jobs, found = [], []
    for number in range(60):
        jobs += [await bench.add() for _ in range(1 + number % 3)]
        looks = await asyncio.gather(
            *(store.claim(limit=10, idle=False) for store in (side.store, side.other))
        )
        found += [job_id for look in looks for job_id in ids(look)]

    assert sorted(found) == sorted(jobs)
    assert "all due" in wire.ways


def postpone_while_it_is_read(db: Database, job_id: JobId, looking: asyncio.Task[Look]) -> bool:
    """Whether it could be done before the claim was through."""
    reads = "SELECT 1 FROM pg_stat_activity WHERE state = 'active' AND query LIKE %s"
    until(
        lambda: looking.done() or db.run(reads, ["%known AS MATERIALIZED%"]),
        within=10,
        what="a claim",
        every=0.001,
    )
    postpone = "UPDATE jobs SET scheduled_at = %s WHERE job_id = %s AND status = 'QUEUED' RETURNING job_id"
    return bool(db.run(postpone, [NOON + timedelta(days=1), job_id]))


async def test_what_changed_since_it_was_read_is_not_taken(
    bench: Bench, side: PostgresSide, wire: Wire
) -> None:
    """Thousands of pauses make the statement slow between its two halves."""
    side.db.run(
        "INSERT INTO job_pauses (kind, name, reason)"
        " SELECT 'tenant', number, 'many' FROM generate_series(1, 30000) AS number"
    )
    for _ in range(20):
        jobs = [await bench.add() for _ in range(10)]
        looking = asyncio.create_task(bench.look())
        postponed = await asyncio.to_thread(postpone_while_it_is_read, side.db, jobs[0], looking)
        look = await looking
        assert ids(look) == jobs[postponed:]
        if look.more:
            break
    else:
        pytest.fail("never was one postponed in between")
    assert "in order" not in wire.ways


async def test_one_whose_answer_was_lost_is_undone(bench: Bench, wire: Wire) -> None:
    job_id = await bench.add()
    wire.losing = 1
    with pytest.raises(Unavailable):
        await bench.look()
    assert bench.side.row(job_id)["status"] == "RUNNING"
    await bench.store.undo_unheard_claims()
    [again] = await bench.claim()

    assert (again.job_id, again.attempts) == (job_id, 1)
    assert wire.ways == ["all due", "in order"]  # what was not answered is not tried again at once
