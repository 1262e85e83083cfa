"""Wake-up latency as ratios of one run: machines differ, and so do the hours of a day."""

import threading
import time

import pytest

from tests.support.broker import BY_POLL, NEVER_BY_POLL, Publisher, wait_connected
from tests.support.database import Database
from tests.support.rabbitmq import RabbitNode
from tests.support.wake_race import race
from tests.support.worker import Worker, until, worker

pytestmark = pytest.mark.broker


def test_a_wake_up_takes_at_most_twice_as_long_as_the_bare_steps(db: Database, rabbit: RabbitNode) -> None:
    with worker(db.url, BPC_QUEUE_URL=rabbit.url, BPC_LOG_LEVEL="info", **BY_POLL) as running:
        wait_connected(running)
        found = race(db, rabbit.url, rounds=1000)
        print(found)

        for since in ("insert", "publish"):
            assert found.ratio(since).p50 <= 2
            assert found.ratio(since).p99 <= 2
        assert running.stop() == 0
    db.check_history()


def test_triggers_that_a_full_worker_does_not_need_cost_it_little(db: Database, rabbit: RabbitNode) -> None:
    """A producer that publishes a trigger for every job must not slow down the worker it feeds."""
    settings = {"BPC_QUEUE_URL": rabbit.url, "BPC_LOG_LEVEL": "info", **NEVER_BY_POLL}
    with worker(db.url, BPC_WORKER_CONCURRENCY=1, **settings) as running, Publisher(rabbit.url) as publisher:
        wait_connected(running)
        drain(db, publisher, count=100)
        alone, bothered = [], []
        for _ in range(3):
            alone.append(drain(db, publisher, count=300))
            with stream(rabbit.url):
                bothered.append(drain(db, publisher, count=300))
        print(f"300 jobs one by one: {min(alone):.2f} s; under a stream of triggers: {min(bothered):.2f} s")

        assert min(bothered) <= 3 * min(alone)
        assert running.stop() == 0
    db.check_history()


def test_a_chain_of_follow_up_jobs_is_not_slowed_down_by_its_own_triggers(
    db: Database, rabbit: RabbitNode
) -> None:
    took = {}
    for name, url in (("without", None), ("with", rabbit.url)):
        settings = {"BPC_LOG_LEVEL": "info"} | ({} if url is None else {"BPC_QUEUE_URL": url})
        with worker(db.url, **settings) as running:
            running.wait_ready()
            if url is not None:
                wait_connected(running)
            took[name] = min(chain(db, running) for _ in range(3))
            assert running.stop() == 0
    print(f"a chain of 50: {took['without']:.2f} s without a broker, {took['with']:.2f} s with one")

    assert took["with"] <= 2 * took["without"]
    db.check_history()


def drain(db: Database, publisher: Publisher, *, count: int) -> float:
    """Seconds in which that many waiting jobs are done."""
    db.run(
        "INSERT INTO jobs (tenant_id, type, payload)"
        " SELECT %s, 'TEST_NOOP', '{}' FROM generate_series(1, %s)",
        [db.tenant(), count],
    )
    publisher.trigger("all of them")
    began = time.monotonic()
    until(lambda: db.run("SELECT FROM jobs WHERE status <> 'SUCCEEDED'") == [], within=120, every=0.05)
    return time.monotonic() - began


class stream:  # noqa: N801 - reads as what it is: `with stream(url)`
    """Two hundred triggers a second."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._publish)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        self._thread.join(timeout=30)

    def _publish(self) -> None:
        with Publisher(self._url) as publisher:
            while not self._ending.wait(0.005):
                publisher.trigger("not needed")


def chain(db: Database, running: Worker, *, depth: int = 50) -> float:
    """Seconds from the first end to the last of jobs of which each queues the next."""
    before = len(db.run("SELECT FROM jobs"))
    db.enqueue("TEST_FOLLOW", f'{{"depth": {depth}}}')
    until(
        lambda: len(db.run("SELECT FROM jobs WHERE status = 'SUCCEEDED'")) == before + depth + 1,
        within=120,
        every=0.1,
    )
    assert running.exit_code is None
    [row] = db.run(
        "SELECT extract(epoch FROM max(finished_at) - min(finished_at))::float AS s"
        " FROM (SELECT finished_at FROM jobs ORDER BY finished_at DESC LIMIT %s) AS last",
        [depth + 1],
    )
    return float(str(row["s"]))
