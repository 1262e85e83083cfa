"""The producer's loop, on a folder of its own and a queue in memory; time is virtual."""

import asyncio
from pathlib import Path

import pytest

from bpc_worker.inbox import producer
from bpc_worker.inbox.files import ChangedError, Inbox
from bpc_worker.inbox.layout import Wanted
from bpc_worker.jobs.errors import Code, Permanent, Retryable, Unavailable
from bpc_worker.jobs.model import TenantId
from tests.support.log_words import LogWords
from tests.support.memory_inbox import Bench, Token
from tests.support.virtual_time import steps, until

pytestmark = pytest.mark.virtual_time

BOM = "acme/BOM/bom.csv"
AWAY = Unavailable(Code.DB_UNAVAILABLE, "no database")
FULL = Permanent(Code.QUEUE_FULL, "the queue is full")


@pytest.fixture
async def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch) -> LogWords:
    words = LogWords()
    monkeypatch.setattr(producer, "_log", words)
    return words


def troubles(words: LogWords) -> int:
    return words.said.count("warning inbox_trouble")


async def test_a_file_that_stands_still_becomes_a_job_and_goes_to_done(bench: Bench, words: LogWords) -> None:
    bench.put(BOM)
    await bench.look(1)
    assert bench.rows == []

    await bench.look(1)
    assert [row.type for row in bench.rows] == ["INGEST_DOCUMENT"]
    assert bench.files() == {f"done/{BOM}"}
    assert bench.heard == ["produced default INGEST_DOCUMENT", "tell"]
    assert bench.database == [None]
    assert words.said == ["info inbox_held"]


async def test_a_file_that_grows_is_waited_for(bench: Bench) -> None:
    for number in range(3):
        bench.put(BOM, b"a,b\n" * (1 + number))
        await bench.look(1)
    assert bench.rows == []

    await bench.look(1)
    assert len(bench.rows) == 1


async def test_it_looks_again_and_again_until_it_is_ended(bench: Bench) -> None:
    running = asyncio.create_task(bench.producer.run())
    await asyncio.sleep(60)
    bench.put(BOM)
    started = bench.clock()
    await until(lambda: bool(bench.rows))
    assert bench.clock() - started < 11
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    another = Inbox(bench.root, Wanted())
    assert another.hold(), "the lock is free again"
    another.close()


async def test_a_worker_that_stops_takes_nothing_more(bench: Bench) -> None:
    bench.put(BOM)
    bench.stopping = True
    running = asyncio.create_task(bench.producer.run())
    await asyncio.sleep(60)
    assert bench.files() == {BOM}
    running.cancel()
    await asyncio.wait({running})


async def test_stopping_between_two_files_leaves_the_second(bench: Bench) -> None:
    bench.put(BOM)
    bench.put("acme/BOM/second.csv", b"c\n3\n")
    await bench.look(1)
    original = bench.queries.tenant

    async def then_stop(wanted: str) -> TenantId | None:
        bench.stopping = True
        return await original(wanted)

    bench.queries.tenant = then_stop  # type: ignore[method-assign]  # somebody stops the worker meanwhile
    await bench.producer.look()

    assert len(bench.rows) == 1
    assert len(bench.files("done")) == 1


async def test_of_two_producers_one_works(bench: Bench, words: LogWords) -> None:
    bench.put(BOM)
    other = bench.another_producer(Inbox(bench.root, Wanted()), bench.handover)
    await bench.look(1)
    for _ in range(3):
        await other._try_look()
    assert bench.rows == []
    assert words.said == ["info inbox_held", "info inbox_held_by_another_producer"]

    bench.inbox.close()
    for _ in range(2):
        await other._try_look()
    assert len(bench.rows) == 1
    other._inbox.close()


async def test_what_a_dead_producer_took_becomes_the_same_job(bench: Bench) -> None:
    bench.put(BOM)
    [found] = bench.inbox.look().found
    bench.inbox.take(found)
    await bench.handover.hand_over(found, bench.queries.tenants["acme"])  # and here it died
    await bench.look()

    assert len(bench.rows) == 1
    assert bench.files() == {f"done/{BOM}"}


async def test_without_a_database_nothing_is_taken(bench: Bench, words: LogWords) -> None:
    bench.put(BOM)
    bench.queries.error = AWAY
    await bench.look(4)
    assert bench.files() == {BOM}
    assert set(bench.database) == {AWAY}
    assert troubles(words) == 1, "said once"

    bench.queries.error = None
    await bench.look(1)
    assert bench.files() == {f"done/{BOM}"}
    bench.put("acme/BOM/more.csv", b"x\n1\n")
    bench.queries.error = AWAY
    await bench.look()
    assert troubles(words) == 2, "and again when it happens again"


async def test_a_full_queue_lets_all_wait(bench: Bench) -> None:
    bench.put(BOM)
    bench.put("other/BOM/bom.csv")
    bench.queue.error = FULL
    await bench.look(3)
    assert bench.files("rejected") == set()
    assert bench.database[-1] is FULL

    bench.queue.error = None
    await bench.look()
    assert bench.files("done") == {BOM, "other/BOM/bom.csv"}


async def test_what_is_refused_is_rejected_in_words_and_keeps_nobody_waiting(
    bench: Bench, words: LogWords
) -> None:
    bench.put("acme/BOM/what.is.this")
    bench.put(BOM)
    await bench.look()

    assert len(bench.rows) == 1
    assert bench.files("rejected") == {"acme/BOM/what.is.this", "acme/BOM/what.is.this.error.json"}
    assert bench.said("acme/BOM/what.is.this")["code"] == "VALIDATION_ERROR"
    assert "warning inbox_rejected" in words.said


async def test_what_can_be_tried_again_stays_and_is_said_once(bench: Bench, words: LogWords) -> None:
    bench.put(BOM)
    bench.queue.error = Retryable("40001", "met another")
    await bench.look(4)
    assert bench.files() == {f".taking/{BOM}"}
    assert troubles(words) == 1

    bench.queue.error = None
    await bench.look()
    assert bench.files() == {f"done/{BOM}"}


async def test_a_trouble_that_went_away_and_comes_again_is_said_again(bench: Bench, words: LogWords) -> None:
    deep = bench.root / "acme/BOM/too/deep"
    for _ in range(2):
        deep.mkdir(parents=True)
        await bench.look()
        deep.rmdir()
        deep.parent.rmdir()
        await bench.look()

    assert troubles(words) == 2


async def test_an_inbox_that_is_gone_is_said_and_waited_for(bench: Bench, words: LogWords) -> None:
    root = bench.root / "mount"
    bench.inbox = Inbox(root, Wanted())
    bench.producer = bench.another_producer(bench.inbox, bench.handover)
    await bench.look()
    assert troubles(words) == 1

    root.mkdir()
    await bench.look(1)
    assert troubles(words) == 1
    assert "info inbox_held" in words.said
    bench.inbox.close()


def _refusing(error: Exception) -> object:
    def refuse(*_: object) -> None:
        raise error

    return refuse


async def test_a_file_that_cannot_be_moved_is_said_and_left(
    bench: Bench, words: LogWords, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.put(BOM)
    monkeypatch.setattr(bench.inbox, "finish", _refusing(OSError(28, "No space left on device")))
    await bench.look(3)
    assert bench.files() == {f".taking/{BOM}"}
    assert troubles(words) == 1

    monkeypatch.undo()
    await bench.look()
    assert bench.files() == {f"done/{BOM}"}
    assert len(bench.rows) == 1


async def test_a_refusal_that_cannot_be_written_is_said_and_tried_again(
    bench: Bench, words: LogWords, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.put("acme/stray.csv")
    monkeypatch.setattr(bench.inbox, "reject", _refusing(OSError("cannot")))
    await bench.look(3)
    assert bench.files("rejected") == set()
    assert troubles(words) == 1

    monkeypatch.undo()
    await bench.look()
    assert "acme/stray.csv" in bench.files("rejected")


async def test_a_file_that_changes_at_the_last_moment_is_left_to_the_next_look(
    bench: Bench, words: LogWords, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.put(BOM)
    monkeypatch.setattr(bench.inbox, "take", _refusing(ChangedError()))
    await bench.look()

    assert bench.files() == {BOM}
    assert words.said[-1] == "debug inbox_file_changes"


async def test_a_rate_limit_is_waited_for(tmp_path: Path) -> None:
    bench = Bench(tmp_path, tokens=[Token(1, 0), Token(0, 7.0), Token(1, 0)])
    bench.put(BOM)
    bench.put("acme/BOM/second.csv", b"c\n3\n")
    started = bench.clock()
    await bench.look()

    assert len(bench.rows) == 2
    assert bench.clock() - started == pytest.approx(7)
    assert bench.heard.count("rate limited") == 1


async def test_who_waits_for_a_token_can_be_stopped(tmp_path: Path) -> None:
    bench = Bench(tmp_path, tokens=[Token(0, 7.0)])
    bench.put(BOM)
    looking = asyncio.create_task(bench.look())
    await asyncio.sleep(3)
    bench.stopping = True
    await looking

    assert bench.files() == {BOM}


class Slow:
    """A database that takes its time for every tenant."""

    def __init__(self, bench: Bench, seconds: float) -> None:
        self._tenants = bench.queries.tenants
        self._seconds = seconds

    async def __call__(self, wanted: str) -> TenantId | None:
        await asyncio.sleep(self._seconds)
        return self._tenants[wanted]


@pytest.mark.parametrize(("seconds", "jobs"), [(0.5, 1), (5.0, 0)])
async def test_a_file_that_was_begun_is_finished_if_that_is_quick(
    bench: Bench, seconds: float, jobs: int
) -> None:
    bench.put(BOM)
    await bench.look(1)
    bench.queries.tenant = Slow(bench, seconds)  # type: ignore[method-assign]  # slower
    running = asyncio.create_task(bench.producer.run())
    await steps()
    started = bench.clock()
    running.cancel()
    await asyncio.wait({running})

    assert running.cancelled()
    assert len(bench.rows) == jobs
    assert bench.clock() - started < 1, "the engine waits no longer"


async def test_an_error_after_the_end_is_nobodys(bench: Bench) -> None:
    bench.put(BOM)
    await bench.look(1)

    async def fails_late(wanted: str) -> TenantId | None:
        del wanted
        await asyncio.sleep(0.2)
        raise AWAY

    bench.queries.tenant = fails_late  # type: ignore[method-assign]  # the database goes away meanwhile
    running = asyncio.create_task(bench.producer.run())
    await steps()
    running.cancel()
    await asyncio.wait({running})

    assert running.cancelled()
    assert bench.files() == {BOM}
