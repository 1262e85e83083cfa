"""Ends are written together; one that cannot be written harms nobody else."""

import asyncio
from collections.abc import Sequence

import pytest

from bpc_worker.engine.settler import Settler
from bpc_worker.jobs.backoff import Backoff
from bpc_worker.jobs.errors import Code, JobError, Permanent, RunAgain, Unavailable
from bpc_worker.jobs.model import Claim, Done, LeaseToken, Released, Settleable, Status
from bpc_worker.jobs.settlement import Settlement, settlement
from bpc_worker.testing import a_claim


class Rows:
    """Just the two ways of settling, with what may go wrong."""

    def __init__(self) -> None:
        self.groups: list[int] = []
        self.singles: list[Claim] = []
        self.refused: set[LeaseToken] = set()
        self.locked: set[LeaseToken] = set()
        self.troubles: list[JobError] = []
        self.go_on = asyncio.Event()
        self.go_on.set()

    async def settle_group(self, ends: Sequence[tuple[Claim, Settlement]]) -> dict[LeaseToken, Status]:
        await self.go_on.wait()
        self.groups.append(len(ends))
        if self.troubles:
            raise self.troubles.pop(0)
        if any(claim.lease_token in self.refused for claim, _ in ends):
            raise Permanent(Code.VALIDATION_ERROR, "unsupported Unicode escape sequence (SQLSTATE 22P05)")
        return {claim.lease_token: end.status for claim, end in ends if claim.lease_token not in self.locked}

    async def settle(self, claim: Claim, end: Settlement) -> Status | None:
        self.singles.append(claim)
        if claim.lease_token in self.refused and end.status is Status.SUCCEEDED:
            raise Permanent(Code.VALIDATION_ERROR, "unsupported Unicode escape sequence (SQLSTATE 22P05)")
        return end.status


def plain(claim: Claim, outcome: Settleable) -> Settlement:
    return settlement(claim, outcome, backoff=Backoff(), dice=0.5)


class Told:
    def __init__(self) -> None:
        self.statuses: dict[LeaseToken, Status | None] = {}

    async def all_of(self, claims: Sequence[Claim]) -> list[Status | None]:
        async with asyncio.timeout(10):
            while len(self.statuses) < len(claims):
                await asyncio.sleep(0)
        return [self.statuses[claim.lease_token] for claim in claims]


async def steps(count: int) -> None:
    """Of the event loop."""
    for _ in range(count):
        await asyncio.sleep(0)


@pytest.fixture
def rows() -> Rows:
    return Rows()


@pytest.fixture
def seen() -> list[JobError | None]:
    return []


@pytest.fixture
def settler(rows: Rows, seen: list[JobError | None]) -> Settler:
    return Settler(rows, plain, on_database=seen.append)  # type: ignore[arg-type]  # it uses these two only


def add(settler: Settler, told: Told, claim: Claim) -> Claim:
    settler.add(claim, Done(), lambda status: told.statuses.update({claim.lease_token: status}))
    return claim


async def test_what_ends_during_a_write_makes_up_the_next_group(rows: Rows, settler: Settler) -> None:
    told = Told()
    rows.go_on.clear()
    claims = [add(settler, told, a_claim())]
    for _ in range(10):
        await asyncio.sleep(0)  # the first write is under way
    claims += [add(settler, told, a_claim()) for _ in range(5)]
    assert told.statuses == {}, "nothing is told before it is durable"
    rows.go_on.set()

    assert await told.all_of(claims) == [Status.SUCCEEDED] * 6
    assert rows.groups == [1, 5]


async def test_a_group_has_a_largest_size(rows: Rows, settler: Settler) -> None:
    told = Told()
    claims = [add(settler, told, a_claim()) for _ in range(450)]
    await told.all_of(claims)

    assert rows.groups == [200, 200, 50]


async def test_a_row_that_is_locked_is_settled_singly(rows: Rows, settler: Settler) -> None:
    told = Told()
    claims = [add(settler, told, a_claim()) for _ in range(3)]
    rows.locked = {claims[1].lease_token}

    assert await told.all_of(claims) == [Status.SUCCEEDED] * 3
    assert rows.singles == [claims[1]]


async def test_a_row_that_cannot_be_stored_fails_alone(rows: Rows, settler: Settler) -> None:
    told = Told()
    claims = [add(settler, told, a_claim()) for _ in range(3)]
    rows.refused = {claims[1].lease_token}

    assert await told.all_of(claims) == [Status.SUCCEEDED, Status.FAILED, Status.SUCCEEDED]


async def test_a_group_outlives_an_outage(rows: Rows, settler: Settler, seen: list[JobError | None]) -> None:
    told = Told()
    away = Unavailable(Code.DB_UNAVAILABLE, "no database")
    rows.troubles = [away, RunAgain("40001", "met another"), away]
    claims = [add(settler, told, a_claim()) for _ in range(3)]

    assert await told.all_of(claims) == [Status.SUCCEEDED] * 3
    assert rows.groups == [3] * 4
    assert seen[0] is away
    assert seen[-1] is None


async def test_ends_travel_with_the_claims_that_follow_one_another(rows: Rows, settler: Settler) -> None:
    told = Told()
    claims: list[Claim] = []
    with settler.ends_for_next_claim():
        claims.append(add(settler, told, a_claim()))
        await steps(5)
    for _ in range(3):  # what ends while one is under way is for the next, however long it takes
        with settler.ends_for_next_claim() as riding:
            await steps(2)
            claims.append(add(settler, told, a_claim()))
            await steps(20)
        settler.confirm(riding)
    assert len(told.statuses) == 3
    assert rows.groups == []

    assert await told.all_of(claims) == [Status.SUCCEEDED] * 4  # and no claim came to take the last
    assert rows.groups == [1]


async def test_an_end_that_failed_a_claim_travels_with_no_other(rows: Rows, settler: Settler) -> None:
    told = Told()
    with settler.ends_for_next_claim():
        claim = add(settler, told, a_claim())
    with settler.ends_for_next_claim() as riding:
        pass
    settler.retry_unconfirmed(riding)

    with settler.ends_for_next_claim() as again:
        assert again == []
    assert await told.all_of([claim]) == [Status.SUCCEEDED]
    assert rows.groups == [1]


async def test_what_cannot_travel_waits_for_one_claim_and_not_for_all(rows: Rows, settler: Settler) -> None:
    told = Told()
    claim = a_claim()
    with settler.ends_for_next_claim():
        settler.add(claim, Released(), lambda status: told.statuses.update({claim.lease_token: status}))
        await steps(5)
    for _ in range(3):
        with settler.ends_for_next_claim() as riding:
            assert riding == []
            await steps(5)

    assert told.statuses == {claim.lease_token: Status.QUEUED}
    assert rows.groups == [1]


async def test_a_bug_of_ours_lets_go_of_its_jobs_and_stops_nothing(rows: Rows, settler: Settler) -> None:
    told = Told()
    rows.troubles = [TypeError("nobody expected that")]  # type: ignore[list-item]  # no error of a store
    lost = [add(settler, told, a_claim()) for _ in range(2)]
    assert await told.all_of(lost) == [None, None]
    later = add(settler, told, a_claim())

    assert await told.all_of([*lost, later]) == [None, None, Status.SUCCEEDED]
