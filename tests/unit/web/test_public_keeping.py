"""What is kept at the public door: for how long, for one look of many, and while the database is away."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from bpc_worker.jobs.errors import Code, Unavailable
from bpc_worker.web.layer.answers import Raw
from bpc_worker.web.public.keeping import Keeper

START = datetime(2027, 3, 1, 12, tzinfo=UTC)


class Source:
    """A database that is asked, and can be away."""

    def __init__(self, most_bytes: int = 10**6) -> None:
        self.now = 0.0
        self.asked = 0
        self.value = "a"
        self.is_away = False
        self.keeper = Keeper[str](
            60, 900, clock=lambda: self.now, now=lambda: START + timedelta(seconds=self.now),
            most_bytes=most_bytes,
        )  # fmt: skip

    async def read(self) -> str:
        self.asked += 1
        await asyncio.sleep(0)
        if self.is_away:
            raise Unavailable(Code.DB_UNAVAILABLE, "away")
        return self.value


async def test_it_is_asked_once_a_minute_and_once_for_many() -> None:
    source = Source()
    found = await asyncio.gather(*(source.keeper.get("k", source.read) for _ in range(9)))
    assert ({each.found for each in found}, source.asked) == ({"a"}, 1)
    source.now = 59.9
    assert (await source.keeper.get("k", source.read), source.asked) == (found[0], 1)

    source.now, source.value = 60, "b"

    assert ((await source.keeper.get("k", source.read)).found, source.asked) == ("b", 2)


async def test_a_change_is_looked_for_at_once() -> None:
    source = Source()
    first = await source.keeper.get("k", source.read)
    source.keeper.put("k", first, "page", Raw(b"page", "text/html"))
    source.keeper.change()
    same = await source.keeper.get("k", source.read)
    source.keeper.change()
    source.value = "b"
    other = await source.keeper.get("k", source.read)

    assert (same, same.answers["page"].body) == (first, b"page")
    assert (other.found, other.answers) == ("b", {})


async def test_what_is_the_same_is_kept_no_longer_for_that() -> None:
    """Its page names the time at which it was checked."""
    source = Source()
    first = await source.keeper.get("k", source.read)
    for source.now in (20, 40, 60):
        source.keeper.change()
        found = await source.keeper.get("k", source.read)

    assert found is not first
    assert source.keeper.caching(found) == "public, max-age=60, must-revalidate"
    source.now = 61.5
    assert source.keeper.caching(found) == "public, max-age=58, must-revalidate"


async def test_while_the_database_is_away_it_says_since_when_and_then_no_more() -> None:
    source = Source()
    await source.keeper.get("k", source.read)
    source.is_away, source.now = True, 70
    stale = await source.keeper.get("k", source.read)
    asked = source.asked
    again = await source.keeper.get("k", source.read)

    assert (stale.found, stale.away_since, stale.at) == ("a", START + timedelta(seconds=70), START)
    assert (again, source.asked) == (stale, asked)  # not asked again within a second
    assert source.keeper.caching(stale) == "public, max-age=0, must-revalidate"
    source.now = 899
    assert (await source.keeper.get("k", source.read)).away_since == START + timedelta(seconds=70)
    source.now = 902
    with pytest.raises(Unavailable):
        await source.keeper.get("k", source.read)
    with pytest.raises(Unavailable):
        await source.keeper.get("unknown", source.read)
    source.is_away, source.now = False, 904
    back = await source.keeper.get("k", source.read)
    assert (back.found, back.away_since) == ("a", None)


async def test_the_eldest_make_room() -> None:
    source = Source(most_bytes=10_000)
    for key in range(20):
        kept = await source.keeper.get(key, source.read)
        source.keeper.put(key, kept, "page", Raw(b"x" * 1000, "text/html"))
    asked = source.asked

    await source.keeper.get(19, source.read)
    assert source.asked == asked
    await source.keeper.get(0, source.read)
    assert source.asked == asked + 1
