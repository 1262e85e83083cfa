"""The removal of old jobs in virtual time: pages follow the yield, as large as can be done quickly."""

import asyncio

import pytest

from bpc_worker.engine.maintenance import pruning
from bpc_worker.engine.maintenance.pruning import Pruner
from bpc_worker.jobs.errors import JobError, Retryable
from bpc_worker.jobs.store import Pruned
from tests.support.log_words import LogWords
from tests.support.virtual_time import VirtualClock

pytestmark = pytest.mark.virtual_time

INTERVAL = 15.0


class Pages:
    """So many old jobs; a page takes `seconds` for each thousand, and has a rest of nine times that."""

    def __init__(self, old: int, *, seconds: float = 0.02, error: JobError | None = None) -> None:
        self.old, self.error = old, error
        self._seconds = seconds
        self.asked: list[tuple[float, int]] = []

    async def prune(self, page: int) -> Pruned | None:
        self.asked.append((asyncio.get_running_loop().time(), page))
        if self.error is not None:
            raise self.error
        took = self._seconds * page / 1000
        await asyncio.sleep(took)
        gone = min(page, self.old)
        self.old -= gone
        return Pruned(gone, gone, 0, at_the_end=gone < page, rest_seconds=9 * took)


async def for_a_while(pages: Pages, seconds: float) -> None:
    pruner = Pruner(pages, interval_seconds=INTERVAL, spread=lambda seconds, _: seconds, clock=VirtualClock())
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(pruner.run(), seconds)


async def test_full_pages_follow_each_other_for_a_tenth_of_the_time() -> None:
    pages = Pages(1_000_000)
    await for_a_while(pages, 60)

    assert 1_000_000 - pages.old == pytest.approx(60 * 0.1 / 0.02 * 1000, rel=0.1)


async def test_after_the_last_old_one_it_looks_once_an_interval() -> None:
    pages = Pages(1_500)
    await for_a_while(pages, 3 * INTERVAL)

    assert pages.old == 0
    assert len(pages.asked) == 2 + 2


@pytest.mark.parametrize(("seconds", "expected"), [(0.02, 5_000), (0.6, 1_000), (3.0, 250)])
async def test_a_page_is_as_large_as_can_be_done_quickly(seconds: float, expected: int) -> None:
    pages = Pages(10_000_000, seconds=seconds)
    await for_a_while(pages, 300)

    assert pages.asked[-1][1] == expected


async def test_a_page_that_fails_is_smaller_the_next_time_and_nothing_else_happens(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = LogWords()
    monkeypatch.setattr(pruning, "_log", words)
    pages = Pages(5_000, error=Retryable("57014", "canceling statement due to statement timeout"))
    await for_a_while(pages, 6.5 * INTERVAL)

    assert [size for _, size in pages.asked] == [1000, 500, 250, 125, 100, 100, 100]
    assert words.said == ["warning prune_failed"] * 7
