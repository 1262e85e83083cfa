"""Rate limits of job types: no more are claimed than the rate allows, by however many workers."""

import asyncio
from datetime import timedelta
from uuid import UUID

import psycopg
import pytest

from bpc_worker.engine.claiming.rate_limits import RateLimits
from bpc_worker.engine.claiming.suspects import SuspectsOnly
from bpc_worker.jobs.model import NewJob, TenantId
from bpc_worker.jobs.queue_settings import QueueSettings
from bpc_worker.jobs.store import Caps, Look, Pause, PauseKind
from bpc_worker.postgres.connection import Link
from bpc_worker.postgres.dsn import Dsn
from bpc_worker.postgres.queue.store import PostgresJobs
from bpc_worker.postgres.queue.type_limits import TypeLimit, TypeLimits
from bpc_worker.testing import NOON
from tests.support.database import Database

SLOW = {"TEST_SLOW": TypeLimit(per_second=2, burst=3)}


class Looker:
    """As the runner looks."""

    def __init__(self, db: Database, *, suspects: bool = False) -> None:
        dsn = Dsn(url=db.url_as("bpc_worker"), application_name="test")
        settings = QueueSettings(owner="w", types=("TEST_SLOW", "TEST_PLAIN"))
        self.store = PostgresJobs(dsn, settings, now=NOON)
        self.limits = TypeLimits(
            Link(dsn), SLOW, types=settings.types, queues=settings.queues, call_timeout=20,
            suspects=suspects, now=NOON,
        )  # fmt: skip
        self.source = SuspectsOnly(self.store, "watcher") if suspects else self.store
        self.limited = self.looks = 0
        self.throttle = RateLimits(SLOW, self.limits, self._was_limited)

    def _was_limited(self) -> None:
        self.limited += 1

    def later(self, seconds: float) -> None:
        assert self.store.now is not None
        self.store.now = self.limits.now = self.store.now + timedelta(seconds=seconds)

    async def look(self, asked: int = 10, caps: Caps | None = None) -> list[str]:
        if await self.throttle.empty_look() is not None:
            return []
        self.looks += 1
        bounded = await self.throttle.caps(caps or {}, asked)
        look = await self.source.claim(limit=asked, caps=bounded)
        await self.throttle.record_claim(look.claims)
        return sorted(claim.type for claim in look.claims)

    async def add(self, db: Database, job_type: str, count: int) -> None:
        tenant = TenantId(UUID(db.tenant()))
        await self.store.enqueue_many(tenant, [NewJob(type=job_type)] * count)

    def close(self) -> None:
        self.store.close()
        self.limits.close()


def tokens(db: Database) -> object:
    return db.one("SELECT tokens FROM rate_limits WHERE key = 'TEST_SLOW'")["tokens"]


async def test_a_look_brings_what_the_bucket_holds_and_says_when_there_is_more(db: Database) -> None:
    looker = Looker(db)
    await looker.add(db, "TEST_SLOW", 10)
    await looker.add(db, "TEST_PLAIN", 2)

    assert await looker.look() == ["TEST_PLAIN"] * 2 + ["TEST_SLOW"] * 3  # the others are not held up
    assert looker.throttle.wait_seconds == pytest.approx(0.5)
    assert looker.limited == 1
    assert await looker.look() == []
    looker.later(1)
    assert await looker.look() == ["TEST_SLOW"] * 2
    assert db.one("SELECT max(snoozes) AS most FROM jobs")["most"] == 0
    looker.close()


async def test_nothing_due_takes_nothing_and_writes_nothing(db: Database) -> None:
    looker = Looker(db)
    await looker.look()

    assert db.run("SELECT 1 FROM rate_limits") == []
    assert looker.throttle.wait_seconds is None
    looker.close()


async def test_what_was_not_used_is_there_for_the_others(db: Database) -> None:
    looker, other = Looker(db), Looker(db)
    await looker.add(db, "TEST_SLOW", 3)
    caps = await looker.throttle.caps({}, 10)  # it has the tokens, but another one has the jobs
    assert caps == {frozenset({"TEST_SLOW"}): 3}
    db.run("UPDATE jobs SET scheduled_at = scheduled_at + interval '1 hour'")
    await looker.throttle.record_claim((await looker.store.claim(limit=10, caps=caps)).claims)
    db.run("UPDATE jobs SET scheduled_at = scheduled_at - interval '1 hour'")

    assert tokens(db) == 3
    assert await other.look() == ["TEST_SLOW"] * 3
    looker.close()
    other.close()


async def test_several_workers_together_keep_to_the_rate(db: Database) -> None:
    lookers = [Looker(db) for _ in range(4)]
    await lookers[0].add(db, "TEST_SLOW", 60)
    claimed = 0
    for _ in range(10):  # ten seconds, every quarter of one
        for _ in range(4):
            claimed += sum(len(found) for found in await asyncio.gather(*(each.look() for each in lookers)))
            for each in lookers:
                each.later(0.25)

    assert claimed == 3 + 2 * 10 - 1  # the burst, and the rate; the last quarter's half token is still in it
    for each in lookers:
        each.close()


async def test_a_paused_type_takes_no_tokens(db: Database) -> None:
    looker = Looker(db)
    await looker.add(db, "TEST_SLOW", 3)
    operator = PostgresJobs(Dsn(url=db.url, application_name="test"), QueueSettings(owner="o"))
    await operator.pause(Pause(kind=PauseKind.TYPE, name="TEST_SLOW", reason="test"))
    operator.close()

    assert await looker.look() == []
    assert db.run("SELECT 1 FROM rate_limits") == []
    looker.close()


async def test_a_suspect_of_a_limited_type_needs_a_token_and_gets_one(db: Database) -> None:
    looker, others = Looker(db, suspects=True), Looker(db)
    for _ in range(4):
        db.enqueue("TEST_SLOW", scheduled_at=NOON, attempts=2, fail_code="LEASE_EXPIRED")
    await looker.store.watch_suspects("watcher")

    assert await others.look() == []
    assert db.run("SELECT 1 FROM rate_limits") == [], "a token for a job that it does not take"
    for left in (2, 1, 0):
        assert await looker.look(1) == ["TEST_SLOW"]
        assert tokens(db) == left
    assert await looker.look(1) == []
    assert looker.throttle.wait_seconds == pytest.approx(0.5)
    looker.later(0.5)
    assert await looker.look(1) == ["TEST_SLOW"]
    looker.close()
    others.close()


async def test_a_cap_shared_with_other_types_is_not_exceeded(db: Database) -> None:
    looker = Looker(db)
    await looker.add(db, "TEST_SLOW", 5)
    await looker.add(db, "TEST_PLAIN", 5)

    assert len(await looker.look(caps={frozenset({"TEST_SLOW", "TEST_PLAIN"}): 4})) == 4
    assert len(await looker.look(caps={frozenset({"TEST_SLOW", "TEST_PLAIN"}): 0})) == 0
    looker.close()


async def test_an_idle_worker_asks_one_question_until_something_is_due(db: Database) -> None:
    looker = Looker(db)
    for _ in range(3):
        assert await looker.look() == []
    assert looker.looks == 1
    await looker.store.enqueue(
        TenantId(UUID(db.tenant())), NewJob(type="TEST_PLAIN", scheduled_at=NOON + timedelta(seconds=7))
    )
    nothing = await looker.throttle.empty_look()
    assert nothing is not None
    assert nothing.next_due_in == 7

    looker.later(7)
    assert await looker.look() == ["TEST_PLAIN"]
    assert await looker.look() == []
    assert await looker.look() == []
    assert looker.looks == 3, "after one that brought something, a look; then questions again"
    looker.close()


@pytest.mark.parametrize(
    ("kind", "name"), [(PauseKind.TYPE, "TEST_SLOW"), (PauseKind.QUEUE, "default"), (PauseKind.TENANT, "")]
)
async def test_what_is_paused_is_not_due(db: Database, kind: PauseKind, name: str) -> None:
    looker = Looker(db)
    await looker.look()
    await looker.add(db, "TEST_SLOW", 1)
    assert await looker.throttle.empty_look() is None
    operator = PostgresJobs(Dsn(url=db.url, application_name="test"), QueueSettings(owner="o"))
    await operator.pause(Pause(kind=kind, name=name or db.tenant(), reason="test"))
    operator.close()

    assert await looker.throttle.empty_look() is not None
    looker.close()


async def test_a_suspect_is_due_to_the_process_of_suspects_and_to_nobody_else(db: Database) -> None:
    looker, others = Looker(db, suspects=True), Looker(db)
    for each in (looker, others):
        await each.look()
    await looker.add(db, "TEST_PLAIN", 1)
    assert await looker.throttle.empty_look() == Look()
    assert await others.throttle.empty_look() is None
    db.run("TRUNCATE jobs, job_history")
    db.enqueue("TEST_PLAIN", scheduled_at=NOON, attempts=2, fail_code="LEASE_EXPIRED")
    await looker.store.watch_suspects("watcher")

    assert await others.throttle.empty_look() == Look()
    assert await looker.look() == ["TEST_PLAIN"]
    looker.close()
    others.close()


async def test_a_bucket_that_somebody_holds_is_passed_over(db: Database) -> None:
    looker = Looker(db)
    await looker.add(db, "TEST_SLOW", 4)
    assert await looker.look(1) == ["TEST_SLOW"]
    await looker.add(db, "TEST_PLAIN", 2)
    with db.connect() as holder, holder.transaction():
        holder.execute("UPDATE rate_limits SET tokens = tokens")
        assert await looker.look() == ["TEST_PLAIN"] * 2
        assert looker.throttle.wait_seconds is not None
        assert looker.throttle.wait_seconds < 1, "it is asked again soon"
        await looker.limits.give_back({"TEST_SLOW": 1})  # waits for nobody
    assert await looker.look() == ["TEST_SLOW"] * 2
    looker.close()


async def test_a_bucket_that_somebody_is_making_is_passed_over(db: Database) -> None:
    looker = Looker(db)
    await looker.add(db, "TEST_SLOW", 4)
    await looker.add(db, "TEST_PLAIN", 2)
    other = Looker(db)
    async with other.limits._link.transaction(timeout=5):
        await other.limits.take({"TEST_SLOW": 1})
        assert await looker.look() == ["TEST_PLAIN"] * 2
    assert await looker.look() == ["TEST_SLOW"] * 2
    looker.close()
    other.close()


async def test_limits_that_cannot_be_asked_stop_no_other_type(db: Database) -> None:
    looker = Looker(db)
    await looker.add(db, "TEST_SLOW", 4)
    await looker.add(db, "TEST_PLAIN", 2)
    db.run("ALTER TABLE rate_limits RENAME TO elsewhere")

    assert await looker.look() == ["TEST_PLAIN"] * 2
    assert looker.throttle.wait_seconds == 1.0
    looker.close()


@pytest.mark.parametrize("role", ["bpc_producer", "bpc_app"])
def test_who_only_queues_jobs_takes_no_tokens_of_their_types(db: Database, role: str) -> None:
    with db.connect(role) as connection:
        for statement in (
            "UPDATE rate_limits SET tokens = 0",
            "INSERT INTO rate_limits VALUES ('TEST_SLOW', 1, 1, 0, now())",
            "SELECT * FROM bpc_take_tokens('{TEST_SLOW}', '{1}', '{1}', '{1}')",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement.encode())
        own = b"SELECT taken FROM bpc_take_tokens('{producer}', '{1}', '{1}', '{1}')"
        taken = connection.execute(own).fetchall()
    assert taken == [{"taken": 1}]
