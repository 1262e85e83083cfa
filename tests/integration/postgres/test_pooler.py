"""Through a real pgbouncer in transaction mode: the limits, plans and promises of a direct connection."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace

import pytest

from bpc_worker.jobs.backoff import Backoff
from bpc_worker.jobs.errors import Permanent, RunAgain
from bpc_worker.jobs.model import Done
from bpc_worker.jobs.queue_settings import QueueSettings
from bpc_worker.jobs.settlement import Settlements
from bpc_worker.postgres.connection import Link
from bpc_worker.postgres.dsn import Dsn
from bpc_worker.postgres.embedded.server import Server
from bpc_worker.postgres.queue.store import PostgresJobs
from tests.support.database import Database
from tests.support.pgbouncer import Pooler, pooler

WAIT = 10.0
ASK = b"SELECT current_setting(%(name)s, true) AS it"
NAME = "bpc-worker pooled"


@pytest.fixture(scope="module")
def bouncer(server: Server) -> Iterator[Pooler]:
    with pooler(server.port) as running:
        yield running


@pytest.fixture
def dsn(db: Database, bouncer: Pooler) -> Dsn:
    return Dsn(
        url=bouncer.url(db.url),
        application_name=NAME,
        statement_timeout=7,
        lock_timeout=0.1,
        prepared_statements=False,
        engine=True,
        suppress_insert_notify=True,
    )


@pytest.fixture
async def link(dsn: Dsn) -> AsyncIterator[Link]:
    made = Link(dsn)
    yield made
    made.drop()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("statement_timeout", "7s"),
        ("lock_timeout", "100ms"),
        ("enable_seqscan", "off"),
        ("plan_cache_mode", "force_generic_plan"),
        ("jit", "off"),
        ("bpc.quiet", "on"),
        ("client_connection_check_interval", "1s"),
    ],
)
async def test_a_statement_has_its_settings_and_leaves_none_behind(link: Link, name: str, value: str) -> None:
    [row] = await link.run(ASK, {"name": name}, timeout=WAIT)
    bare = Link(replace(link.dsn, engine=False, statement_timeout=3, lock_timeout=3))
    try:
        async with bare.transaction(timeout=WAIT):
            [inside] = await bare.run(ASK, {"name": "statement_timeout"}, timeout=WAIT)
    finally:
        bare.drop()

    assert row["it"] == value
    assert inside["it"] == "3s"


async def test_a_row_that_somebody_has_locked_is_told(db: Database, link: Link) -> None:
    db.tenant()
    with db.connect() as holder, holder.transaction():
        holder.execute("SELECT FROM tenants FOR UPDATE")
        with pytest.raises(RunAgain):
            await link.run(b"SELECT tenant_id FROM tenants FOR UPDATE", timeout=WAIT)

    assert len(await link.run(b"SELECT tenant_id FROM tenants FOR UPDATE", timeout=WAIT)) == 1


async def test_ends_ride_with_a_claim(db: Database, dsn: Dsn) -> None:
    store = PostgresJobs(dsn, QueueSettings(owner="w", types=("TEST_NOOP",)))
    first, second = (db.enqueue("TEST_NOOP") for _ in range(2))
    try:
        [claim] = (await store.claim(limit=1)).claims
        end = Settlements(Backoff(), lambda: 0.5)(claim, Done())
        look = await store.claim(limit=1, ends=[(claim, end)])
    finally:
        store.close()

    assert look.ended
    assert {db.job(first)["status"], db.job(second)["status"]} == {"SUCCEEDED", "RUNNING"}


async def test_a_statement_that_fails_leaves_the_link_as_it_was(link: Link) -> None:
    for _ in range(3):
        with pytest.raises(Permanent):
            await link.run(b"SELECT 1/0", timeout=WAIT)
        assert link.idle
        rows = await link.run(b"SELECT '100%%' || %(mark)s AS it", {"mark": "!"}, timeout=WAIT)
        assert rows == [{"it": "100%!"}]
