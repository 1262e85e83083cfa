"""What every JobStore does. Time is moved by hand: no test waits."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from bpc_worker.adapters.postgres.job_rows import QueueSettings, TypeDefaults
from bpc_worker.adapters.postgres.jobs import PostgresJobs, _Doubt
from bpc_worker.adapters.postgres.link import Dsn
from bpc_worker.adapters.sql_files import query
from bpc_worker.jobs.backoff import Backoff
from bpc_worker.jobs.errors import Permanent
from bpc_worker.jobs.model import (
    Cancelled,
    Claim,
    Done,
    Failed,
    Fate,
    InfrastructureAway,
    JobId,
    NewJob,
    Priority,
    Released,
    Retry,
    Settleable,
    Snoozed,
    Status,
    TenantId,
)
from bpc_worker.jobs.settlement import settlement
from bpc_worker.ports import Heartbeat
from tests.builders import NOON, an_error
from tests.support.database import Database

LEASE = timedelta(seconds=60)


@dataclass
class Bench:
    """A store, its clock, and a second worker with the same name on the same queue."""

    store: PostgresJobs
    other: PostgresJobs
    db: Database
    tenant: TenantId

    def advance(self, delta: timedelta) -> None:
        for store in (self.store, self.other):
            assert store.now is not None
            store.now += delta

    async def add(self, job_type: str = "TEST_NOOP", **fields: object) -> JobId:
        job = NewJob(type=job_type, **fields)  # type: ignore[arg-type]  # whatever the test names
        return (await self.store.enqueue(self.tenant, job)).job_id

    async def claim(self, limit: int = 10, *, idle: bool = True) -> list[Claim]:
        return [*(await self.store.claim(limit=limit, idle=idle)).claims]

    async def settle(self, claim: Claim, outcome: Settleable) -> Status | None:
        return await self.store.settle(claim, settlement(claim, outcome, backoff=Backoff(), dice=0.5))

    def row(self, job_id: UUID) -> dict[str, object]:
        return self.db.job(str(job_id))


@pytest.fixture
async def bench(db: Database) -> AsyncIterator[Bench]:
    settings = QueueSettings(
        owner="worker-1",
        types=("TEST_NOOP", "TEST_EFFECT"),
        lease_seconds=LEASE.total_seconds(),
        type_defaults={"TEST_EFFECT": TypeDefaults(priority=Priority.HIGH, max_attempts=7)},
    )
    dsn = Dsn(url=db.url, application_name="contract")
    stores = [PostgresJobs(dsn, settings, now=NOON) for _ in range(2)]
    yield Bench(stores[0], stores[1], db, TenantId(UUID(db.tenant())))
    for store in stores:
        store.close()
    if db.run("SELECT 1 FROM job_history LIMIT 1"):
        db.check_history(nothing_left=False)


async def test_what_is_queued_comes_out_whole(bench: Bench) -> None:
    job_id = await bench.add(payload={"a": [1, "ü"]}, correlation_id="c-1")
    [claim] = await bench.claim()

    assert (claim.job_id, claim.type, claim.attempts, claim.correlation_id) == (job_id, "TEST_NOOP", 1, "c-1")
    assert claim.payload == '{"a": [1, "ü"]}'
    assert bench.row(job_id)["status"] == "RUNNING"


async def test_ids_of_ours_are_time_ordered(bench: Bench) -> None:
    job_id = await bench.add()

    assert job_id.version == 7
    assert bench.db.one("SELECT bpc_uuid_v7() AS id")["id"].version == 7  # type: ignore[attr-defined]  # a UUID


async def test_type_defaults_apply_where_the_producer_says_nothing(bench: Bench) -> None:
    row = bench.row(await bench.add("TEST_EFFECT"))
    said = bench.row(await bench.add("TEST_EFFECT", priority=Priority.CRITICAL, max_attempts=2))

    assert (row["priority"], row["max_attempts"]) == (1, 7)
    assert (said["priority"], said["max_attempts"]) == (0, 2)


async def test_the_same_key_is_the_same_job(bench: Bench) -> None:
    job = NewJob(type="TEST_NOOP", payload={"n": 1}, idempotency_key="k")
    first = await bench.store.enqueue(bench.tenant, job)
    second = await bench.store.enqueue(bench.tenant, job)

    assert (first.added, second.added) == (True, False)
    assert first.job_id == second.job_id


async def test_the_same_key_with_another_payload_is_a_conflict(bench: Bench) -> None:
    await bench.add(payload={"n": 1}, idempotency_key="k")
    with pytest.raises(Permanent, match="IDEMPOTENCY_CONFLICT"):
        await bench.add(payload={"n": 2}, idempotency_key="k")


async def test_keys_belong_to_a_type(bench: Bench) -> None:
    assert await bench.add(idempotency_key="k") != await bench.add("TEST_EFFECT", idempotency_key="k")


async def test_best_priority_first_then_oldest(bench: Bench) -> None:
    await bench.claim()  # the very first begins with the oldest
    late = await bench.add(priority=Priority.NORMAL)
    low = await bench.add(priority=Priority.LOW, scheduled_at=NOON - timedelta(hours=1))
    old = await bench.add(priority=Priority.NORMAL, scheduled_at=NOON - timedelta(minutes=1))
    high = await bench.add(priority=Priority.HIGH)

    assert [claim.job_id for claim in await bench.claim()] == [high, old, late, low]


async def test_a_claim_takes_no_more_than_asked(bench: Bench) -> None:
    for _ in range(5):
        await bench.add()

    assert len(await bench.claim(3)) == 3
    assert len(await bench.claim(3)) == 2
    assert await bench.claim(3) == []


async def test_a_future_job_waits_until_it_is_due(bench: Bench) -> None:
    await bench.add(delay_seconds=10)

    assert await bench.claim() == []
    bench.advance(timedelta(seconds=10))
    assert len(await bench.claim()) == 1


async def test_foreign_types_and_queues_are_left_alone(bench: Bench) -> None:
    await bench.add("OTHER_TYPE")
    await bench.add(queue="elsewhere")

    assert await bench.claim() == []


async def test_a_renewal_extends_the_lease_and_writes_progress(bench: Bench) -> None:
    job_id = await bench.add()
    [claim] = await bench.claim()
    bench.advance(timedelta(seconds=30))
    renewal = await bench.store.renew([Heartbeat(claim.job_id, claim.lease_token, "half", '{"done": 5}')])

    assert renewal.renewed == {claim.lease_token}
    row = bench.row(job_id)
    assert row["lease_expires_at"] == NOON + timedelta(seconds=90)
    assert (row["stage"], row["progress"]) == ("half", {"done": 5})


async def test_an_expired_lease_is_never_revived(bench: Bench) -> None:
    await bench.add()
    [claim] = await bench.claim()
    bench.advance(LEASE)
    renewal = await bench.store.renew([Heartbeat(claim.job_id, claim.lease_token)])

    assert renewal.renewed == frozenset()
    assert renewal.missing == {claim.lease_token: Fate.LOST}


async def test_a_renewal_knows_lost_settled_and_locked_apart(bench: Bench) -> None:
    for _ in range(3):
        await bench.add()
    lost, settled, locked = await bench.claim()
    assert await bench.settle(settled, Done()) is Status.SUCCEEDED
    bench.db.run("UPDATE jobs SET lease_token = gen_random_uuid() WHERE job_id = %s", [lost.job_id])
    with bench.db.connect() as holder, holder.transaction():
        holder.execute("SELECT FROM jobs WHERE job_id = %s FOR UPDATE", [locked.job_id])
        renewal = await bench.store.renew(
            [Heartbeat(each.job_id, each.lease_token) for each in (lost, settled, locked)]
        )
    bench.db.run("TRUNCATE job_history")  # the stolen token above is no legal history

    assert renewal.missing == {
        lost.lease_token: Fate.LOST,
        settled.lease_token: Fate.SETTLED,
        locked.lease_token: Fate.LOCKED,
    }


async def test_a_renewal_tells_of_a_cancel_request(bench: Bench) -> None:
    job_id = await bench.add()
    [claim] = await bench.claim()
    bench.db.run("SELECT bpc_cancel_job(%s)", [job_id])
    renewal = await bench.store.renew([Heartbeat(claim.job_id, claim.lease_token)])

    assert renewal.cancel_requested == {claim.lease_token}


async def test_the_loser_of_a_lease_cannot_finish_the_job(bench: Bench) -> None:
    """A worker that froze, lost its lease and woke up writes nothing, though both have the same name."""
    await bench.add()
    [first] = await bench.claim()
    bench.advance(LEASE)
    await bench.store.reap()
    bench.advance(timedelta(seconds=3))
    [second] = (await bench.other.claim(limit=1, idle=True)).claims

    assert second.job_id == first.job_id
    assert await bench.settle(first, Done('{"by": "first"}')) is None
    assert await bench.settle(second, Done('{"by": "second"}')) is Status.SUCCEEDED
    assert bench.row(first.job_id)["result"] == {"by": "second"}


async def test_a_settle_can_be_repeated_after_a_lost_answer(bench: Bench) -> None:
    job_id = await bench.add()
    [claim] = await bench.claim()

    assert await bench.settle(claim, Retry(an_error())) is Status.QUEUED
    assert await bench.settle(claim, Retry(an_error())) is Status.QUEUED
    assert bench.db.events(str(job_id)) == ["job:retried"]


@pytest.mark.parametrize(
    ("outcome", "status", "attempts", "snoozes", "events"),
    [
        (Done('{"ok": true}'), "SUCCEEDED", 1, 0, []),
        (Retry(an_error()), "QUEUED", 1, 0, ["job:retried"]),
        (Failed(an_error()), "FAILED", 1, 0, ["job:failed"]),
        (Snoozed(an_error("RATE_LIMITED"), 5), "QUEUED", 0, 1, ["job:snoozed"]),
        (InfrastructureAway(an_error("DB_UNAVAILABLE")), "QUEUED", 0, 1, ["job:snoozed"]),
        (Released(), "QUEUED", 0, 0, ["job:released"]),
        (Cancelled(), "CANCELLED", 1, 0, ["job:cancelled"]),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str | int | list) else "",
)
async def test_every_outcome_is_written_with_its_event(
    bench: Bench, outcome: Settleable, status: str, attempts: int, snoozes: int, events: list[str]
) -> None:
    job_id = await bench.add()
    [claim] = await bench.claim()
    assert await bench.settle(claim, outcome) == status
    row = bench.row(job_id)

    assert (row["status"], row["attempts"], row["snoozes"]) == (status, attempts, snoozes)
    assert (row["lease_owner"], row["lease_expires_at"]) == (None, None)
    assert row["lease_token"] == claim.lease_token  # it tells whose settle this was
    assert (row["finished_at"] is None) == (status == "QUEUED")
    assert bench.db.events(str(job_id)) == events


async def test_an_error_is_stored_in_one_shape(bench: Bench) -> None:
    job_id = await bench.add()
    [claim] = await bench.claim()
    await bench.settle(claim, Retry(an_error("WEBHOOK_FAILED")))
    row = bench.row(job_id)

    assert row["last_error"] == {
        "code": "WEBHOOK_FAILED", "message": "it did not work", "retryable": True,
        "attempt": 1, "at": "2026-11-16T12:00:00.000000Z", "detail": None,
    }  # fmt: skip
    assert (row["fail_code"], row["fail_reason"]) == ("WEBHOOK_FAILED", "it did not work")


async def test_retries_are_delayed_and_end_in_a_dead_letter(bench: Bench) -> None:
    job_id = await bench.add(max_attempts=3)
    delays = []
    for _ in range(3):
        [claim] = await bench.claim()
        await bench.settle(claim, Retry(an_error()))
        assert bench.store.now is not None
        scheduled = bench.row(job_id)["scheduled_at"]
        delays.append((scheduled - bench.store.now).total_seconds())  # type: ignore[operator]  # a datetime
        bench.advance(timedelta(seconds=60))

    assert delays[:2] == [pytest.approx(2.1), pytest.approx(4.2)]
    assert bench.row(job_id)["status"] == "DEAD_LETTER"
    assert await bench.claim() == []


async def test_a_retry_of_a_cancelled_job_is_cancelled(bench: Bench) -> None:
    for outcome in (Retry(an_error()), Released(), Snoozed(an_error(), 1), InfrastructureAway(an_error())):
        job_id = await bench.add()
        [claim] = await bench.claim()
        bench.db.run("SELECT bpc_cancel_job(%s)", [job_id])

        assert await bench.settle(claim, outcome) is Status.CANCELLED


async def test_a_completion_beats_a_cancel_request(bench: Bench) -> None:
    job_id = await bench.add()
    [claim] = await bench.claim()
    bench.db.run("SELECT bpc_cancel_job(%s)", [job_id])

    assert await bench.settle(claim, Done()) is Status.SUCCEEDED


async def test_a_settle_survives_a_lowered_maximum(bench: Bench) -> None:
    """No CHECK may stop a settle: with max_attempts lowered meanwhile, giving back is a dead letter."""
    job_id = await bench.add()
    bench.db.run("UPDATE jobs SET attempts = 3 WHERE job_id = %s", [job_id])
    [claim] = await bench.claim()
    bench.db.run("UPDATE jobs SET max_attempts = 2 WHERE job_id = %s", [job_id])
    bench.db.run("TRUNCATE job_history")

    assert await bench.settle(claim, Released()) is Status.DEAD_LETTER
    bench.db.run("TRUNCATE job_history")


async def reap_all(bench: Bench) -> list[Status]:
    return [reaped.status for reaped in await bench.store.reap()]


async def test_the_reaper_brings_back_what_expired_and_nothing_else(bench: Bench) -> None:
    expired = await bench.add()
    await bench.claim()
    bench.advance(timedelta(seconds=30))
    await bench.add()
    [alive] = await bench.claim()
    bench.advance(timedelta(seconds=30))

    assert await reap_all(bench) == [Status.QUEUED]
    row = bench.row(expired)
    assert (row["status"], row["fail_code"], row["lease_token"]) == ("QUEUED", "LEASE_EXPIRED", None)
    assert bench.db.events(str(expired)) == ["reaper:requeued"]
    assert bench.row(alive.job_id)["status"] == "RUNNING"


async def test_the_reaper_delays_by_the_same_backoff(bench: Bench) -> None:
    job_id = await bench.add()
    await bench.claim()
    bench.advance(LEASE)
    await bench.store.reap()
    assert bench.store.now is not None
    delay = (bench.row(job_id)["scheduled_at"] - bench.store.now).total_seconds()  # type: ignore[operator]  # a datetime

    assert 2.0 <= delay <= 2.2


async def test_a_job_that_kills_every_holder_is_a_dead_letter(bench: Bench) -> None:
    job_id = await bench.add(max_attempts=3)
    for _ in range(3):
        assert len(await bench.claim()) == 1
        bench.advance(LEASE)
        await bench.store.reap()
        bench.advance(timedelta(seconds=60))

    row = bench.row(job_id)
    assert (row["status"], row["fail_code"], row["attempts"]) == ("DEAD_LETTER", "LEASE_EXPIRED", 3)
    assert bench.db.events(str(job_id)) == ["reaper:requeued", "reaper:requeued", "reaper:dead_lettered"]
    assert await bench.claim() == []


async def test_a_reap_of_a_cancelled_job_is_cancelled(bench: Bench) -> None:
    job_id = await bench.add()
    await bench.claim()
    bench.db.run("SELECT bpc_cancel_job(%s)", [job_id])
    bench.advance(LEASE)

    assert await reap_all(bench) == [Status.CANCELLED]


async def a_suspect(bench: Bench) -> JobId:
    job_id = await bench.add()
    for _ in range(2):
        await bench.claim()
        bench.advance(LEASE)
        await bench.store.reap()
        bench.advance(timedelta(seconds=10))
    return job_id


async def test_a_suspect_is_claimed_alone_and_only_by_an_idle_worker(bench: Bench) -> None:
    suspect = await a_suspect(bench)
    others = [await bench.add(priority=Priority.CRITICAL) for _ in range(3)]

    busy = await bench.claim(idle=False)
    assert [claim.job_id for claim in busy] == others
    await bench.add()
    [claim] = await bench.claim(idle=True)
    assert (claim.job_id, claim.suspect) == (suspect, True)


async def test_a_suspect_that_waits_long_is_noticed(bench: Bench) -> None:
    await a_suspect(bench)

    assert not await bench.store.suspect_waiting()
    bench.advance(LEASE)
    assert await bench.store.suspect_waiting()


async def test_a_claim_whose_answer_was_lost_is_undone(bench: Bench) -> None:
    job_id = await bench.add()
    await bench.claim()
    nonce = uuid4()
    token = (
        "encode(substring(sha256(convert_to(%s::text || job_id::text, 'UTF8')) FROM 1 FOR 16), 'hex')::uuid"
    )
    bench.db.run(f"UPDATE jobs SET lease_token = {token} WHERE job_id = %s", [str(nonce), job_id])
    bench.db.run("TRUNCATE job_history")
    bench.store._unanswered[nonce] = _Doubt()
    await bench.store.undo_unheard_claims()
    [again] = await bench.claim()

    assert (again.job_id, again.attempts) == (job_id, 1)
    assert bench.db.events(str(job_id)) == ["job:released"]


async def test_a_late_reap_does_nothing(bench: Bench) -> None:
    """A statement that a stopped server executes long after it was sent must not take anybody's job."""
    await bench.add()
    await bench.claim()
    bench.advance(LEASE)
    params = {"page": 100, "backoff_base": 2.0, "backoff_max": 1024.0, "within_seconds": 5.0}
    reap = query("jobs/reap").decode()
    late = bench.db.run(reap, params | {"now": bench.store.now, "asked_at": NOON})
    soon = bench.db.run(reap, params | {"now": bench.store.now, "asked_at": bench.store.now})

    assert late == []
    assert len(soon) == 1


async def test_a_pulse_says_whether_it_can_be_written(bench: Bench) -> None:
    assert await bench.store.pulse()
