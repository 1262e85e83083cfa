"""Outages with everything that must hold, for the short tests and the long ones."""

import time
from collections.abc import Mapping

from tests.support.database import Database
from tests.support.outages import (
    READY_TURNS_WITHIN,
    WORK_GOES_ON_WITHIN,
    all_succeed,
    effects_once_each,
    enqueue_many,
    frozen,
    watched,
)
from tests.support.worker import until, worker

Settings = Mapping[str, object]


def lease(seconds: float, renew: float) -> Settings:
    return {
        "BPC_JOBS_LEASE_SECONDS": seconds,
        "BPC_JOBS_LEASE_RENEW_SECONDS": renew,
        "BPC_REAPER_INTERVAL_SECONDS": 1,
    }


def a_frozen_server(
    db: Database, settings: Settings, *, seconds: float, spanning: float, flow: int, all_within: float
) -> None:
    """Jobs of every kind run; some would end while the server stands still, some after it."""
    with worker(db.url, **settings) as one, worker(db.url, **settings) as two:
        one.wait_ready()
        two.wait_ready()
        pids = (one.pid, two.pid)
        enqueue_many(db, "TEST_SLEEP", 2, seconds=spanning)
        enqueue_many(db, "TEST_SLEEP", 2, seconds=2)
        enqueue_many(db, "TEST_EFFECT", 2, seconds=2)
        enqueue_many(db, "TEST_EFFECT", 2, seconds=spanning)
        until(lambda: db.one("SELECT count(*) AS n FROM jobs WHERE status = 'RUNNING'")["n"] == 8, within=10)
        for kind in ("TEST_EFFECT", "TEST_READ", "TEST_NOOP"):
            enqueue_many(db, kind, flow)
        with watched(one, two) as watches:
            with frozen(db.server):
                stopped_at = time.monotonic()
                time.sleep(seconds)
                resumed_at = time.monotonic()
            fresh = db.enqueue("TEST_EFFECT", '{"key": "fresh"}', priority=0)
            until(lambda: db.job(fresh)["status"] == "SUCCEEDED", within=WORK_GOES_ON_WITHIN)

            assert time.monotonic() - resumed_at <= WORK_GOES_ON_WITHIN

            for watch in watches:
                until(
                    lambda watch=watch: watch.first_ready(200, after=resumed_at), within=WORK_GOES_ON_WITHIN
                )
            all_succeed(db, within=all_within)
            for watch in watches:
                turned = watch.first_ready(503, after=stopped_at)
                assert watch.was_always_live()
                assert turned is not None
                assert turned <= READY_TURNS_WITHIN

        assert (one.pid, two.pid) == pids
        assert one.exit_code is two.exit_code is None
        assert one.stop() == two.stop() == 0
    assert effects_once_each(db)
    db.check_history()
