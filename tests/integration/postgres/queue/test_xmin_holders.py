"""Whatever keeps dead rows from being cleaned away is seen: transactions, prepared ones, slots, standbys."""

from collections.abc import AsyncIterator, Iterator

import pytest

from bpc_worker.postgres.connection import Link
from bpc_worker.postgres.dsn import Dsn
from bpc_worker.postgres.embedded.server import Server
from bpc_worker.postgres.queue.samples import Samples
from tests.support import database as databases
from tests.support.database import Database


@pytest.fixture(scope="module")
def replicating() -> Iterator[Server]:
    settings = databases.NO_FSYNC | {"wal_level": "logical", "max_prepared_transactions": "5"}
    with databases.postgres(settings, in_memory=True) as server:
        databases.make_template(server)
        yield server


@pytest.fixture
def its_db(replicating: Server) -> Iterator[Database]:
    with databases.database(replicating) as database:
        yield database


@pytest.fixture
async def samples(its_db: Database) -> AsyncIterator[Samples]:
    link = Link(Dsn(url=its_db.url_as("bpc_worker"), application_name="test"))
    samples = Samples(link, call_timeout=5, lease_seconds=60)
    samples.clock = lambda: 100.0
    yield samples
    link.drop()


async def test_a_prepared_transaction_is_seen_with_its_age(its_db: Database, samples: Samples) -> None:
    with its_db.connect() as connection:
        connection.execute("BEGIN")
        connection.execute("INSERT INTO tenants (name) VALUES ('forgotten')")
        connection.execute("PREPARE TRANSACTION 'forgotten'")
    try:
        found = await samples.xmin_holders()
    finally:
        its_db.run("ROLLBACK PREPARED 'forgotten'")

    assert found["prepared"].seconds > 0
    assert found["prepared"].transactions >= 1


async def test_a_slot_is_seen_and_ages_from_when_it_was_first_seen(
    its_db: Database, samples: Samples
) -> None:
    its_db.run("SELECT pg_create_logical_replication_slot('forgotten', 'test_decoding')")
    try:
        first = await samples.xmin_holders()
        samples.clock = lambda: 160.0
        second = await samples.xmin_holders()
    finally:
        its_db.run("SELECT pg_drop_replication_slot('forgotten')")
    third = await samples.xmin_holders()

    assert (first["slot"].seconds, second["slot"].seconds) == (0.0, 60.0)
    assert "slot" not in third


async def test_a_transaction_of_somebody_else_ages_although_its_start_is_hidden(
    its_db: Database, samples: Samples
) -> None:
    with its_db.connect() as connection:
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        connection.execute("SELECT count(*) FROM jobs")
        await samples.xmin_holders()
        samples.clock = lambda: 130.0
        found = await samples.xmin_holders()

    assert found["transaction"].seconds == 30.0


async def test_where_nothing_is_held_nothing_is_told(samples: Samples) -> None:
    assert (await samples.xmin_holders()).keys() <= {"transaction"}  # of an autovacuum, perhaps
