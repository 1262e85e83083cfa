"""A version's place in a status list: given once, told by nothing, in a list of its issuer."""

import asyncio
from collections.abc import Iterator
from itertools import pairwise
from uuid import UUID, uuid4

import psycopg
import pytest

from bpc_worker.jobs.model import TenantId
from bpc_worker.postgres.dsn import Dsn
from bpc_worker.postgres.queue.transactions import LinkPool
from bpc_worker.postgres.writes_ahead import WritesAhead
from tests.support.database import Database

ISSUER = "https://passports.example"
PLACES = 2**17
REFUSED = (
    "UPDATE status_places SET status_idx = 1",
    "DELETE FROM status_places",
    "UPDATE status_lists SET issuer = 'https://x.example'",
    "DELETE FROM status_lists",
)


class Places:
    def __init__(self, db: Database) -> None:
        self._db = db
        self.pool = LinkPool(Dsn(url=db.url_as("bpc_worker"), application_name="test"), 8)
        self._ahead = WritesAhead(self.pool, timeout=5)

    async def allot(
        self, version: UUID | None = None, *, issuer: str = ISSUER, tenant: str = "acme"
    ) -> tuple[object, object]:
        tenant_id = TenantId(UUID(str(self._db.tenant(tenant))))
        params = {"passport_version_id": version or uuid4(), "issuer": issuer}
        [row] = await self._ahead.write_ahead(tenant_id, "status/allot", params)
        return row["status_list"], row["status_idx"]


@pytest.fixture
def places(db: Database) -> Iterator[Places]:
    made = Places(db)
    yield made
    made.pool.close()


async def test_a_version_keeps_its_place(db: Database, places: Places) -> None:
    version = uuid4()

    first = await places.allot(version)
    await places.allot()

    assert await places.allot(version) == first
    assert db.one("SELECT allotted FROM status_lists")["allotted"] == 2


async def test_those_who_ask_at_once_get_places_of_their_own_in_one_list(places: Places) -> None:
    given = await asyncio.gather(*(places.allot() for _ in range(40)))

    assert len(set(given)) == 40
    assert len({status_list for status_list, _ in given}) == 1


async def test_who_asks_twice_at_once_for_one_version_gets_one_place(db: Database, places: Places) -> None:
    version = uuid4()

    given = await asyncio.gather(*(places.allot(version) for _ in range(8)))

    assert len(set(given)) == 1
    assert len(db.run("SELECT FROM status_places")) == 1


async def test_a_full_list_is_followed_by_another(db: Database, places: Places) -> None:
    first, _ = await places.allot()
    db.run("UPDATE status_lists SET allotted = %s", [PLACES - 1])

    given = [await places.allot() for _ in range(2)]

    assert [status_list == first for status_list, _ in given] == [True, False]
    lists = db.run("SELECT open FROM status_lists ORDER BY status_list")
    assert [row["open"] for row in lists] == [False, True]


async def test_lists_are_of_one_issuer_and_one_tenant(places: Places) -> None:
    given = [
        await places.allot(),
        await places.allot(issuer="https://id.acme.example"),
        await places.allot(tenant="other"),
    ]

    assert len({status_list for status_list, _ in given}) == 3, "an address is never that of two lists"


def test_every_place_of_a_list_is_given_once_and_not_in_order(db: Database) -> None:
    shuffled = "SELECT bpc_status_place(%s, n) AS idx FROM generate_series(0, %s) AS n"
    given = [int(str(row["idx"])) for row in db.run(shuffled, [b"k" * 32, PLACES - 1])]

    assert sorted(given) == list(range(PLACES))
    assert sum(after == before + 1 for before, after in pairwise(given)) < 10


async def test_nobody_moves_a_place_or_sees_the_key(db: Database, places: Places) -> None:
    await places.allot()

    for statement in REFUSED:
        with pytest.raises(psycopg.errors.RestrictViolation):
            db.run(statement)
    for role in ("bpc_worker", "bpc_app", "bpc_operator", "bpc_reader"):
        with db.connect(role) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("SELECT shuffle_key FROM status_lists")
