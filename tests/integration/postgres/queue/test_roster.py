"""Who works: written at the start, refreshed, withdrawn, forgotten."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bpc_worker.app.upkeep import announcing
from bpc_worker.engine.maintenance.care import Care
from bpc_worker.ids import spread as chance
from bpc_worker.jobs.queue_settings import QueueSettings
from bpc_worker.observability.metrics import Metrics
from bpc_worker.postgres.connection import Link
from bpc_worker.postgres.dsn import Dsn
from bpc_worker.postgres.queue.roster import Roster
from tests.support.database import Database
from tests.support.history import moment

QUEUE = QueueSettings(owner="w", types=("TEST_NOOP",), queues=("default", "slow"))
CARE = Care(Metrics(), spread=chance)
SEEN = "SELECT worker_id, types, queues, concurrency, started_at, seen_at, expires_at FROM workers"


@asynccontextmanager
async def roster(db: Database, *, slots: int = 7) -> AsyncIterator[Roster]:
    link = Link(Dsn(url=db.url_as("bpc_worker"), application_name="test", connect_timeout=2))
    yield Roster(link, QUEUE, slots=slots, interval_seconds=15, call_timeout=5)
    link.drop()


async def test_a_worker_says_what_it_handles_and_until_when_to_believe_it(db: Database) -> None:
    async with roster(db) as who:
        await who.announce()

    row = db.one(SEEN)
    assert (row["worker_id"], row["types"], row["queues"]) == ("w", ["TEST_NOOP"], ["default", "slow"])
    assert row["concurrency"] == 7
    believed = moment(row, "expires_at") - moment(row, "seen_at")
    assert 149 <= believed.total_seconds() <= 151


async def test_who_only_reaps_handles_nothing(db: Database) -> None:
    async with roster(db, slots=0) as who:
        await who.announce()

    assert (db.one(SEEN)["types"], db.one(SEEN)["queues"]) == ([], [])


async def test_a_sign_of_life_keeps_the_start_and_a_new_start_does_not(db: Database) -> None:
    async with roster(db) as who, roster(db) as other:
        await who.announce()
        first = db.one(SEEN)
        await who.announce()
        again = db.one(SEEN)
        await other.announce()  # another process under the same name and number, as in a container

    assert again["started_at"] == first["started_at"]
    assert moment(again, "seen_at") > moment(first, "seen_at")
    assert moment(db.one(SEEN), "started_at") > moment(first, "started_at")


async def test_who_has_long_been_gone_is_forgotten(db: Database) -> None:
    gone = (
        "INSERT INTO workers SELECT name, 'h', 1, '0', '{}', '{}', 1, now(), now(), now() - since::interval"
        " FROM (VALUES ('long', '61 minutes'), ('lately', '1 minute')) AS v (name, since)"
    )
    db.run(gone)

    async with roster(db) as who:
        await who.announce()

    assert {row["worker_id"] for row in db.run(SEEN)} == {"lately", "w"}


async def test_whoever_is_stopped_withdraws(db: Database) -> None:
    async with roster(db) as who:
        duty = asyncio.create_task(announcing(CARE, who)())
        async with asyncio.timeout(10):
            while not db.run(SEEN):
                await asyncio.sleep(0)
        duty.cancel()
        await asyncio.wait({duty}, timeout=5)

    assert duty.cancelled()
    assert db.run(SEEN) == []


async def test_no_place_on_the_roster_is_no_reason_to_stop(db: Database) -> None:
    """Nobody needs it in order to work."""
    db.run("REVOKE INSERT ON workers FROM bpc_worker")
    twice = asyncio.Event()
    tries: list[float] = []

    def spread(seconds: float, _: float) -> float:
        tries.append(seconds)
        if len(tries) > 1:
            twice.set()
        return 0.0

    async with roster(db) as who:
        duty = asyncio.create_task(announcing(Care(Metrics(), spread=spread), who)())
        async with asyncio.timeout(10):
            await twice.wait()

        assert not duty.done()
        duty.cancel()
        await asyncio.wait({duty}, timeout=5)


async def test_a_sign_of_life_is_written_whether_or_not_there_is_a_row(db: Database) -> None:
    async with roster(db) as who:
        assert await who.pulse()
        first = db.one(SEEN)
        assert await who.pulse()
        again = db.one(SEEN)

    assert moment(again, "seen_at") > moment(first, "seen_at")
    assert again["expires_at"] == first["expires_at"], "a pulse is no promise"
