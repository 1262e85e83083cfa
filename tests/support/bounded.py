"""A server that does not answer, or is not there: few connections, and nothing lost or doubled."""

import time

from tests.support.broker import Publisher, heard, ring, succeeds, wait_connected
from tests.support.connection_counts import budget, counted, knocks_at
from tests.support.database import Database
from tests.support.outages import (
    Settings,
    all_succeed,
    at_first_attempt,
    counts,
    effects_once_each,
    enqueue_many,
    locked,
    standby_gone,
    start,
    summary,
)
from tests.support.pgbouncer import pooler
from tests.support.rabbitmq import RabbitNode
from tests.support.worker import until, worker

POOLED = {"BPC_DB_PREPARED_STATEMENTS": "off"}
TRIGGERS_PER_SECOND = 700


def without_its_standby(db: Database, settings: Settings, *, seconds: float) -> None:
    """Every commit waits: of claims, settles, renewals, handlers. None of them can be cancelled."""
    jobs = enqueue_many(db, "TEST_EFFECT", 200, seconds=0.2) + enqueue_many(db, "TEST_NOOP", 200)
    with worker(db.url, **settings) as running:
        until(lambda: counts(db).get("SUCCEEDED", 0) >= 20, within=60)
        with standby_gone(db.server), counted(db) as found:
            until(lambda: running.get("/v1/health/ready")[0] == 503, within=30)
            time.sleep(seconds)
        all_succeed(db, within=120)

        usual, most = budget(db, **settings)
        print(f"{found.most} connections at most, {usual} usually, {most} allowed: {found.told}")
        print(summary(db))
        assert running.stop() == 0
    assert found.most <= most
    assert at_first_attempt(db, jobs)
    assert effects_once_each(db)
    db.check_history()


def behind_a_lock(db: Database, *, seconds: float) -> None:
    """Through a pooler: somebody's psql holds the rows of jobs that have ended and are to be settled."""
    with pooler(db.server.port) as bouncer, worker(bouncer.url(db.url), **POOLED) as running:
        held = enqueue_many(db, "TEST_SLEEP", 4, seconds=1)
        until(lambda: counts(db) == {"RUNNING": 4}, within=30)
        with locked(db, held), counted(db) as found:
            flow = enqueue_many(db, "TEST_NOOP", 200) + enqueue_many(db, "TEST_EFFECT", 50)
            time.sleep(seconds)
            done = counts(db).get("SUCCEEDED", 0)
        all_succeed(db, within=120)

        usual, most = budget(db, **POOLED)
        print(f"{found.most} connections at most, {usual} usually, {most} allowed: {found.told}")
        print(summary(db))
        assert running.stop() == 0
    assert found.most <= usual
    assert done == len(flow)
    assert at_first_attempt(db, [*held, *flow])
    assert effects_once_each(db)
    db.check_history()


def without_a_database(db: Database, node: RabbitNode, *, seconds: float) -> None:
    """However loud the bell is."""
    with worker(db.url, BPC_QUEUE_URL=node.url) as running, Publisher(node.url) as publisher:
        wait_connected(running)
        db.server.stop("fast")
        try:
            with knocks_at(db.server.port) as door:
                heard_before, lines_before, began_at = heard(running), len(running.lines), time.monotonic()
                ring(publisher, per_second=TRIGGERS_PER_SECOND, seconds=seconds)
                took, lines = time.monotonic() - began_at, len(running.lines) - lines_before
                rung = heard(running) - heard_before
        finally:
            start(db.server)
        print(
            f"{rung / took:.0f} triggers a second, {len(door.at) / took:.2f} knocks, {lines / took:.2f} lines"
        )
        succeeds(db, db.enqueue("TEST_NOOP"))

        assert running.stop() == 0
    assert rung >= TRIGGERS_PER_SECOND / 7 * took  # on a machine with much else to do
    assert len(door.at) <= 2 * took + 1
    assert lines <= took + 5
