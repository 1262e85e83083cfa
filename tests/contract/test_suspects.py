"""Suspects, whose last holders died on them: who may take one, when, and in which order."""

import pytest

from bpc_worker.jobs.model import Claim, Done, JobId, Priority
from bpc_worker.jobs.store import Pause, PauseKind
from tests.contract.conftest import LEASE_SECONDS
from tests.support.stores import Bench, settled

ME, OTHER = "me", "somebody else"


async def suspects(bench: Bench, *wishes: dict[str, object]) -> list[JobId]:
    """Jobs whose holders have died twice, due now."""
    jobs = [await bench.add(**wish) for wish in wishes or ({},)]  # type: ignore[arg-type]  # as the test says
    for _ in range(2):
        await bench.store.begin(await bench.claim(len(jobs)))
        bench.side.advance(LEASE_SECONDS)
        await bench.store.reap()
        bench.side.advance(10)
    return jobs


async def claim(bench: Bench, watcher: str = ME) -> list[Claim]:
    return list((await bench.store.claim_suspect(watcher)).claims)


async def test_an_ordinary_claim_takes_none(bench: Bench) -> None:
    await suspects(bench)
    other = await bench.add()

    assert [each.job_id for each in await bench.claim()] == [other]


async def test_they_are_taken_one_by_one_best_priority_first_then_oldest(bench: Bench) -> None:
    low, normal, later, critical = await suspects(
        bench, {"priority": Priority.LOW}, {}, {}, {"priority": Priority.CRITICAL}
    )
    first, second = sorted([normal, later], key=lambda each: str(bench.side.row(each)["scheduled_at"]))
    await bench.add(priority=Priority.CRITICAL)
    assert await bench.store.watch_suspects(ME)
    taken = [await claim(bench) for _ in range(5)]

    assert [[each.job_id for each in some] for some in taken] == [[critical], [first], [second], [low], []]
    assert {(each.attempts, each.lease_expired_before) for some in taken for each in some} == {(3, True)}


async def test_a_suspect_that_ends_well_is_done(bench: Bench) -> None:
    [job_id] = await suspects(bench)
    await bench.store.watch_suspects(ME)
    [taken] = await claim(bench)

    assert await bench.store.settle(taken, settled(taken, Done())) == "SUCCEEDED"
    assert bench.side.row(job_id)["fail_code"] is None
    assert not await bench.store.watch_suspects(ME)


async def test_the_watch_is_not_taken_where_none_is_due(bench: Bench) -> None:
    await bench.add()
    assert not await bench.store.watch_suspects(ME)
    await bench.store.begin(await bench.claim())
    bench.side.advance(LEASE_SECONDS)
    await bench.store.reap()
    bench.side.advance(10)
    await bench.store.begin(await bench.claim())
    bench.side.advance(LEASE_SECONDS)
    await bench.store.reap()  # twice by now; but it is put off for a while

    assert not await bench.store.watch_suspects(ME)
    bench.side.advance(10)
    assert await bench.store.watch_suspects(ME)


async def test_only_whoever_has_the_watch_takes_one(bench: Bench) -> None:
    await suspects(bench)
    assert await claim(bench) == []
    assert await bench.store.watch_suspects(ME)

    assert not await bench.side.other.watch_suspects(OTHER)
    assert await claim(bench, OTHER) == []
    assert not await bench.side.other.keep_suspects(OTHER)
    assert await bench.store.watch_suspects(ME), "whoever has it has it"
    assert len(await claim(bench)) == 1


async def test_a_watch_that_is_kept_stays_and_one_that_is_not_is_anybodys(bench: Bench) -> None:
    await suspects(bench)
    assert await bench.store.watch_suspects(ME)
    for _ in range(3):
        bench.side.advance(LEASE_SECONDS - 1)
        assert await bench.store.keep_suspects(ME)
    assert not await bench.side.other.watch_suspects(OTHER)
    bench.side.advance(LEASE_SECONDS)

    assert await claim(bench) == [], "it is late"
    assert await bench.side.other.watch_suspects(OTHER)
    assert not await bench.store.keep_suspects(ME)
    assert not await bench.store.watch_suspects(ME)
    assert await claim(bench) == []
    assert len(await claim(bench, OTHER)) == 1


async def test_a_watch_is_kept_while_none_is_due(bench: Bench) -> None:
    await suspects(bench)
    await bench.store.watch_suspects(ME)
    await claim(bench)
    bench.side.advance(LEASE_SECONDS - 1)

    assert await bench.store.keep_suspects(ME)


async def test_a_watch_that_is_given_up_is_anybodys_at_once(bench: Bench) -> None:
    await suspects(bench)
    await bench.store.watch_suspects(ME)
    assert not await bench.store.keep_suspects(OTHER, give_up=True)
    assert not await bench.store.watch_suspects(OTHER)
    assert await bench.store.keep_suspects(ME, give_up=True)

    assert await claim(bench) == []
    assert await bench.store.watch_suspects(OTHER)


@pytest.mark.parametrize("kind", list(PauseKind))
async def test_what_is_paused_is_neither_claimed_nor_watched_for(bench: Bench, kind: PauseKind) -> None:
    names = {PauseKind.QUEUE: "default", PauseKind.TYPE: "TEST_NOOP", PauseKind.TENANT: str(bench.tenant)}
    await suspects(bench)
    await bench.store.watch_suspects(ME)
    await bench.store.pause(Pause(kind=kind, name=names[kind], reason="told to"))

    assert await claim(bench) == []
    assert not await bench.store.watch_suspects(ME)
    await bench.store.resume(kind, names[kind])
    assert len(await claim(bench)) == 1


async def test_a_type_whose_cap_is_used_up_is_left_out(bench: Bench) -> None:
    await suspects(bench)
    await bench.store.watch_suspects(ME)
    full, room = ({frozenset({"TEST_NOOP", "TEST_EFFECT"}): most} for most in (0, 1))

    assert not (await bench.store.claim_suspect(ME, caps=full)).claims
    assert len((await bench.store.claim_suspect(ME, caps=room)).claims) == 1


@pytest.mark.parametrize("foreign", [{"type": "OTHER_TYPE"}, {"queue": "elsewhere"}])
async def test_foreign_types_and_queues_are_left_alone(bench: Bench, foreign: dict[str, object]) -> None:
    [job_id] = await suspects(bench)
    bench.side.change(job_id, **foreign)

    assert not await bench.store.watch_suspects(ME)
    assert await claim(bench) == []
