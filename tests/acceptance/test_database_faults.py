"""The database breaks while real workers run: nothing is lost, nothing happens twice, work goes on."""

import random
import time
from collections.abc import Iterator

import pytest

from bpc_worker.adapters.postgres_server import Server
from tests.support import database as databases
from tests.support.database import Database
from tests.support.outages import (
    all_succeed,
    at_first_attempt,
    effects_once_each,
    enqueue_many,
    server_of_its_own,
    through,
)
from tests.support.tcp_proxy import TcpProxy
from tests.support.worker import worker

SHORT = {"BPC_JOBS_LEASE_SECONDS": 6, "BPC_JOBS_LEASE_RENEW_SECONDS": 3, "BPC_REAPER_INTERVAL_SECONDS": 1}


@pytest.fixture(scope="module")
def own_server() -> Iterator[Server]:
    with server_of_its_own() as server:
        yield server


@pytest.fixture
def own_db(own_server: Server) -> Iterator[Database]:
    """In a server that may be stopped."""
    with databases.database(own_server) as database:
        yield database


@pytest.fixture
def proxy(db: Database) -> Iterator[TcpProxy]:
    with TcpProxy("127.0.0.1", db.server.port) as running:
        yield running


def test_a_lost_answer_to_commit_is_neither_a_second_effect_nor_a_second_attempt(
    db: Database, proxy: TcpProxy
) -> None:
    lost = 10
    proxy.lose_commit_answers(lost, only_after=b"test_effects")
    jobs = enqueue_many(db, "TEST_EFFECT", lost)
    with worker(through(proxy, db.url)) as running:
        running.wait_ready()
        all_succeed(db, within=30)

        assert running.metric("bpc_jobs_completed_total", status="SUCCEEDED") == lost
        assert running.stop() == 0
    assert proxy.commits_lost == lost
    assert at_first_attempt(db, jobs)
    assert effects_once_each(db)
    assert db.run("SELECT * FROM job_events") == []
    db.check_history()


def test_lines_cut_at_random_moments_lose_and_double_nothing(db: Database, proxy: TcpProxy) -> None:
    dice = random.Random(1)
    with worker(through(proxy, db.url), **SHORT) as running:
        running.wait_ready()
        for _ in range(4):
            enqueue_many(db, "TEST_NOOP", 25)
            enqueue_many(db, "TEST_EFFECT", 25)
        for _ in range(40):
            proxy.sever()
            time.sleep(dice.uniform(0.0, 0.1))
        all_succeed(db, within=60)

        assert running.stop() == 0
    assert effects_once_each(db)
    db.check_history()
