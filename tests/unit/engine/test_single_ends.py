"""Ends one by one, in virtual time: rounds, pauses, and what one of them costs the others."""

import asyncio

import pytest

from bpc_worker.engine.single_ends import End, SingleEnds
from bpc_worker.jobs.backoff import Backoff
from bpc_worker.jobs.errors import Code, JobError, Permanent, Retryable, RunAgain, Unavailable
from bpc_worker.jobs.model import Claim, Done, ErrorInfo, Failed, LeaseToken, Status
from bpc_worker.jobs.settlement import Settlement, settlement
from bpc_worker.testing import a_claim

pytestmark = pytest.mark.virtual_time

FULL = Retryable(Code.DB_UNAVAILABLE, "no space left (SQLSTATE 53100)")
AWAY = Unavailable(Code.DB_UNAVAILABLE, "no database")
LOCKED = RunAgain("55P03", "locked")
NEVER = Permanent(Code.VALIDATION_ERROR, "SQLSTATE 22P05")


class Bench:
    def __init__(self) -> None:
        self.troubles: dict[LeaseToken, Exception] = {}
        self.tried: list[LeaseToken] = []
        self.told: dict[LeaseToken, Status | None] = {}
        self.noted: list[JobError | None] = []
        self.singles = SingleEnds(
            self.settle, self.failed, on_database=self.noted.append, first_pause=0.1, longest_pause=3.0
        )

    async def settle(self, claim: Claim, end: Settlement) -> Status | None:
        self.tried.append(claim.lease_token)
        trouble = self.troubles.get(claim.lease_token)
        if trouble is None or (trouble is NEVER and end.status is Status.FAILED):
            return end.status
        raise trouble

    def failed(self, claim: Claim, error: Permanent) -> Settlement:
        info = ErrorInfo(error.code, error.message, retryable=False)
        return settlement(claim, Failed(info), backoff=Backoff(), dice=0.0)

    def add(self, trouble: Exception | None = None) -> LeaseToken:
        claim = a_claim()
        token = claim.lease_token
        if trouble is not None:
            self.troubles[token] = trouble
        end = settlement(claim, Done(), backoff=Backoff(), dice=0.0)
        self.singles.add(End(claim, end, lambda status: self.told.update({token: status})))
        return token


@pytest.mark.parametrize("trouble", [FULL, LOCKED])
async def test_one_that_is_refused_costs_the_others_one_try(trouble: JobError) -> None:
    bench = Bench()
    first, bad, last = bench.add(), bench.add(trouble), bench.add()
    await asyncio.sleep(0.01)
    assert bench.told == {first: Status.SUCCEEDED, last: Status.SUCCEEDED}
    assert bench.noted == [None, trouble, None]

    await asyncio.sleep(100)
    assert bad not in bench.told
    assert 30 < bench.tried.count(bad) < 50, "the pauses grow up to three seconds"
    bench.troubles.clear()
    await asyncio.sleep(3.1)
    assert bench.told[bad] is Status.SUCCEEDED


async def test_those_that_come_later_do_not_wait_for_the_rest() -> None:
    bench = Bench()
    bench.add(FULL)
    await asyncio.sleep(60)
    late = bench.add()
    await asyncio.sleep(3.1)

    assert bench.told == {late: Status.SUCCEEDED}


async def test_a_database_that_is_away_ends_the_round_and_whoever_met_it_comes_last() -> None:
    bench = Bench()
    bad, good = bench.add(AWAY), bench.add()
    await asyncio.sleep(0.01)
    assert bench.tried == [bad]

    await asyncio.sleep(0.2)
    assert bench.tried[:3] == [bad, good, bad]
    assert bench.told == {good: Status.SUCCEEDED}


async def test_what_can_never_be_stored_fails_at_once() -> None:
    bench = Bench()
    bad, good = bench.add(NEVER), bench.add()
    await asyncio.sleep(0.01)

    assert bench.told == {bad: Status.FAILED, good: Status.SUCCEEDED}


async def test_a_bug_lets_go_of_its_own_job_only() -> None:
    bench = Bench()
    bad, good = bench.add(ZeroDivisionError("a bug")), bench.add()
    await asyncio.sleep(0.01)

    assert bench.told == {bad: None, good: Status.SUCCEEDED}
