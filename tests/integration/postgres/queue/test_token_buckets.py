"""Token buckets in PostgreSQL: on the database's clock, shared, never more than the rate allows."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta

import pytest

from bpc_worker.jobs.errors import Permanent
from bpc_worker.postgres.connection import Link
from bpc_worker.postgres.dsn import Dsn
from bpc_worker.postgres.queue.token_buckets import Buckets, Limit
from bpc_worker.testing import NOON
from tests.support.database import Database

TEN = Limit(key="ten", per_second=10)


@asynccontextmanager
async def buckets_of(
    db: Database, role: str = "bpc_producer", now: datetime | None = NOON
) -> AsyncIterator[Buckets]:
    link = Link(Dsn(url=db.url_as(role), application_name="test"))
    yield Buckets(link, call_timeout=20, now=now)
    link.drop()


@pytest.fixture
async def buckets(db: Database) -> AsyncIterator[Buckets]:
    async with buckets_of(db) as made:
        yield made


def later(buckets: Buckets, seconds: float) -> None:
    assert buckets.now is not None
    buckets.now += timedelta(seconds=seconds)


async def test_a_new_bucket_is_full_and_then_empty(buckets: Buckets) -> None:
    first, second = await buckets.take(TEN, 100), await buckets.take(TEN, 1)

    assert (first.taken, second.taken) == (10, 0)
    assert second.wait_seconds == pytest.approx(0.1)


async def test_it_fills_by_the_rate_and_no_further_than_its_burst(buckets: Buckets) -> None:
    await buckets.take(TEN, 10)
    later(buckets, 0.25)
    assert (await buckets.take(TEN, 10)).taken == 2
    later(buckets, 0.05)  # the half token of before is not lost
    assert (await buckets.take(TEN, 10)).taken == 1
    later(buckets, 3600)
    assert (await buckets.take(TEN, 100)).taken == 10


async def test_less_than_one_a_second_is_one_every_so_often(buckets: Buckets) -> None:
    slow = Limit(key="slow", per_second=0.5)

    assert (await buckets.take(slow)).taken == 1
    later(buckets, 1)
    refused = await buckets.take(slow)
    assert refused.taken == 0
    assert refused.wait_seconds == pytest.approx(1)
    later(buckets, 1)
    assert (await buckets.take(slow)).taken == 1


async def test_a_clock_that_is_set_back_neither_fills_nor_freezes_it(buckets: Buckets) -> None:
    await buckets.take(TEN, 10)
    later(buckets, -3600)
    assert (await buckets.take(TEN)).taken == 0
    later(buckets, 0.1)
    assert (await buckets.take(TEN)).taken == 1


async def test_keys_have_nothing_to_do_with_one_another(buckets: Buckets) -> None:
    await buckets.take(TEN, 10)

    assert (await buckets.take(Limit(key="other", per_second=10))).taken == 1


async def test_another_rate_counts_from_now_on(buckets: Buckets) -> None:
    await buckets.take(TEN, 10)
    later(buckets, 1)

    assert (await buckets.take(Limit(key="ten", per_second=2), 10)).taken == 2


async def test_a_rate_that_is_none_is_refused(buckets: Buckets) -> None:
    with pytest.raises(Permanent):
        await buckets.take(Limit(key="none", per_second=0))


async def test_many_at_once_get_no_more_than_there_is(db: Database) -> None:
    limit = Limit(key="shared", per_second=50)
    roles = ["bpc_producer", "bpc_worker", "bpc_app"] * 4

    async def take(role: str) -> int:
        async with buckets_of(db, role) as taker:
            return sum([(await taker.take(limit)).taken for _ in range(20)])

    assert sum(await asyncio.gather(*map(take, roles))) == 50


async def test_without_a_clock_of_the_test_the_database_s_counts(db: Database) -> None:
    async with buckets_of(db, now=None) as taker:
        await taker.take(Limit(key="now", per_second=1_000_000), 1)

    age = db.one("SELECT clock_timestamp() - updated_at < interval '1 minute' AS fresh FROM rate_limits")
    assert age["fresh"]
