"""What every JobStore gives out: order, shares, pauses, and what it says about the rest."""

from datetime import timedelta

import pytest

from bpc_worker.jobs.errors import Permanent
from bpc_worker.jobs.model import NewJob, Priority
from bpc_worker.jobs.store import Pause, PauseKind
from bpc_worker.testing import NOON
from tests.support.stores import Bench, tenant_number


async def test_best_priority_first_then_oldest(bench: Bench) -> None:
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
    bench.side.advance(10)
    assert len(await bench.claim()) == 1


async def test_foreign_types_and_queues_are_left_alone(bench: Bench) -> None:
    await bench.add("OTHER_TYPE")
    await bench.add(queue="elsewhere")

    assert await bench.claim() == []


async def test_equals_come_first_in_first_out(bench: Bench) -> None:
    jobs = [await bench.add() for _ in range(20)]

    assert [claim.job_id for claim in await bench.claim(20)] == jobs


async def test_a_job_that_was_future_has_no_place_but_its_time(bench: Bench) -> None:
    """A job that has been due for long goes before one that was queued earlier and fell due later."""
    future = await bench.add(delay_seconds=10)
    now = await bench.add()
    critical = await bench.add(delay_seconds=5, priority=Priority.CRITICAL)
    bench.side.advance(20)

    assert [claim.job_id for claim in await bench.claim()] == [critical, now, future]


async def test_every_eighth_claim_begins_with_the_oldest(bench: Bench) -> None:
    await bench.skip_claims(7)  # with the fixture's own: eight; the next is number nine
    old = await bench.add(priority=Priority.LOW, scheduled_at=NOON - timedelta(hours=1))
    normal = await bench.add(scheduled_at=NOON - timedelta(minutes=1))
    high = await bench.add(priority=Priority.HIGH)

    assert [claim.job_id for claim in await bench.claim()] == [old, high, normal]


async def test_of_every_four_jobs_one_goes_to_the_next_tenant(bench: Bench) -> None:
    one, two, three = (tenant_number(number) for number in (1, 2, 3))
    for tenant in (one, two, three):
        bench.side.tenant(tenant)
    loud = [await bench.add(tenant=one, priority=Priority.CRITICAL) for _ in range(20)]
    quiet = {tenant: await bench.add(tenant=tenant, priority=Priority.LOW) for tenant in (two, three)}
    order = [claim.job_id for _ in range(16) for claim in await bench.claim(1)]

    assert [number for number, job in enumerate(order, start=1) if job not in loud] == [8, 12]
    assert (order[8 - 1], order[12 - 1]) == (quiet[two], quiet[three])
    assert [job for job in order if job in loud] == loud[:14]


@pytest.mark.parametrize("limit", [4, 10, 40])
async def test_a_tenant_behind_many_jobs_of_another_is_served_by_its_share(bench: Bench, limit: int) -> None:
    one, two = tenant_number(1), tenant_number(2)
    for tenant in (one, two):
        bench.side.tenant(tenant)
    await bench.store.enqueue_many(one, [NewJob(type="TEST_NOOP")] * 160)
    await bench.store.enqueue_many(two, [NewJob(type="TEST_NOOP")] * 10)
    order = [claim.tenant_id for _ in range(80 // limit) for claim in await bench.claim(limit)]

    assert len(order) == 80
    assert order.count(two) == 10  # a quarter of them is shared by two


async def test_whoever_has_more_weight_gets_more_jobs_in_a_row(bench: Bench) -> None:
    light, heavy, loud = (tenant_number(number) for number in (1, 2, 3))
    for tenant, weight in ((light, 1), (heavy, 3), (loud, 1)):
        bench.side.tenant(tenant, weight=weight)
    await bench.store.enqueue_many(loud, [NewJob(type="TEST_NOOP", priority=Priority.HIGH)] * 100)
    for tenant in (light, heavy):
        await bench.store.enqueue_many(tenant, [NewJob(type="TEST_NOOP", priority=Priority.LOW)] * 20)
    order = [claim.tenant_id for _ in range(12) for claim in await bench.claim(8)]

    assert (order.count(light), order.count(heavy)) == (5, 15)  # of 24 that went round, and 4 were loud's


async def test_the_ring_goes_past_tenants_that_have_nothing_due(bench: Bench) -> None:
    for number in (1, 2, 3):
        bench.side.tenant(tenant_number(number))
    for _ in range(3):
        await bench.add(tenant=tenant_number(1))
    await bench.add(tenant=tenant_number(2), delay_seconds=60)
    assert len(await bench.claim(3)) == 3
    last = await bench.add(tenant=tenant_number(3), priority=Priority.LOW)
    await bench.add(tenant=bench.tenant, priority=Priority.HIGH)

    look = await bench.look(1)
    assert [claim.job_id for claim in look.claims] == [last]
    assert look.more
    assert len((await bench.look(3)).claims) == 1
    assert not (await bench.look(4)).more  # it goes round, and finds nobody


async def test_the_first_out_of_order_is_within_the_limit(bench: Bench) -> None:
    await bench.skip_claims(7)
    old = await bench.add(priority=Priority.LOW, scheduled_at=NOON - timedelta(hours=1))
    await bench.add(priority=Priority.CRITICAL)
    look = await bench.look(1)

    assert [claim.job_id for claim in look.claims] == [old]
    assert look.more


async def test_a_look_says_whether_there_is_more(bench: Bench) -> None:
    for _ in range(5):
        await bench.add()

    assert [(await bench.look(2)).more, (await bench.look(2)).more] == [True, True]
    assert not (await bench.look(1)).more
    assert not (await bench.look(1)).more


async def test_no_more_are_taken_of_some_types_than_their_cap_allows(bench: Bench) -> None:
    many = [await bench.add(priority=Priority.HIGH) for _ in range(4)]
    free = await bench.add("TEST_EFFECT", priority=Priority.LOW)
    capped = await bench.store.claim(limit=4, caps={frozenset(["TEST_NOOP"]): 2})

    assert [claim.job_id for claim in capped.claims] == [*many[:2], free]
    assert not capped.more
    assert not (await bench.store.claim(limit=4, caps={frozenset(["TEST_NOOP"]): 0})).claims
    assert [claim.job_id for claim in await bench.claim()] == many[2:]


async def test_looks_that_go_on_where_the_last_one_ended_miss_nothing(bench: Bench) -> None:
    """A look is fresh only when the one before came back with less than it wanted."""
    other = tenant_number(1)
    bench.side.tenant(other)
    for number in range(40):
        await bench.add(
            ("TEST_NOOP", "TEST_EFFECT")[number % 2],
            tenant=(bench.tenant, other)[number % 3 == 0],
            queue=("default", "second")[number % 5 == 0],
            priority=Priority(number % 4),
            scheduled_at=NOON - timedelta(seconds=number * 7 % 11),
        )
    found = await bench.claim(3)
    fresh = False
    while (claims := (await bench.store.claim(limit=3, fresh=fresh)).claims) or not fresh:
        found += claims
        fresh = len(claims) < 3

    assert len({claim.job_id for claim in found}) == 40


async def test_a_look_that_finds_nothing_says_when_something_falls_due(bench: Bench) -> None:
    assert (await bench.look()).next_due_in is None
    await bench.add(delay_seconds=90)
    await bench.add(delay_seconds=30)
    await bench.add("OTHER_TYPE", delay_seconds=5)
    bench.side.advance(10)

    assert (await bench.look()).next_due_in == pytest.approx(20)
    await bench.add()
    assert (await bench.look()).next_due_in is None


@pytest.mark.parametrize("kind", list(PauseKind))
async def test_only_what_a_paused_tenant_has_is_waited_for(bench: Bench, kind: PauseKind) -> None:
    """A pause by queue or type takes the place away; a tenant's job may stand before another's."""
    names = {PauseKind.QUEUE: "default", PauseKind.TYPE: "TEST_NOOP", PauseKind.TENANT: str(bench.tenant)}
    await bench.add()
    await bench.add(delay_seconds=30)
    await pause(bench, kind, names[kind])

    assert (await bench.look()).next_due_in == (30 if kind is PauseKind.TENANT else None)


async def pause(bench: Bench, kind: PauseKind, name: str, *, seconds: float | None = None) -> None:
    expires_at = None if seconds is None else bench.clock.now + timedelta(seconds=seconds)
    await bench.store.pause(Pause(kind=kind, name=name, reason="told to", expires_at=expires_at))


@pytest.mark.parametrize("kind", list(PauseKind))
async def test_nothing_that_is_paused_is_claimed_until_it_is_resumed(bench: Bench, kind: PauseKind) -> None:
    bench.side.tenant(tenant_number(7))
    name = {
        PauseKind.QUEUE: "second",
        PauseKind.TYPE: "TEST_EFFECT",
        PauseKind.TENANT: str(tenant_number(7)),
    }[kind]
    free = await bench.add()
    held = await bench.add("TEST_EFFECT", queue="second", tenant=tenant_number(7))
    await pause(bench, kind, name)

    assert [claim.job_id for claim in await bench.claim()] == [free]
    assert await bench.store.resume(kind, name)
    assert not await bench.store.resume(kind, name)
    assert [claim.job_id for claim in await bench.claim()] == [held]


async def test_a_pause_ends_by_itself(bench: Bench) -> None:
    held = await bench.add()
    await pause(bench, PauseKind.QUEUE, "default", seconds=30)
    bench.side.advance(29)
    assert await bench.claim() == []
    bench.side.advance(1)

    assert [claim.job_id for claim in await bench.claim()] == [held]


async def test_pausing_what_is_paused_changes_its_end(bench: Bench) -> None:
    await bench.add()
    await pause(bench, PauseKind.TYPE, "TEST_NOOP")
    await pause(bench, PauseKind.TYPE, "TEST_NOOP", seconds=10)
    bench.side.advance(10)

    assert len(await bench.claim()) == 1


async def test_a_pause_holds_for_shares_too(bench: Bench) -> None:
    """Whatever the count of the claim: ring and oldest pass over what is paused."""
    bench.side.tenant(tenant_number(1))
    await bench.add(tenant=tenant_number(1), scheduled_at=NOON - timedelta(hours=1))
    await pause(bench, PauseKind.TENANT, str(tenant_number(1)))

    await bench.skip_claims(16)


async def test_a_pause_without_a_name_or_a_reason_is_refused(bench: Bench) -> None:
    for name, reason in (("", "told to"), ("default", "")):
        with pytest.raises(Permanent, match="VALIDATION_ERROR"):
            await bench.store.pause(Pause(kind=PauseKind.QUEUE, name=name, reason=reason))
