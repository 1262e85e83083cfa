"""Two hundred passports while workers are killed: each is signed once, and all of them replay."""

import random
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from uuid import UUID

from tests.support.chains import check_chains
from tests.support.database import Database
from tests.support.outages import lease
from tests.support.pipeline import Pipeline, battery, pipeline
from tests.support.worker import Worker, command, worker

BUILDS = 200
KILL_EVERY_SECONDS = 5.0
LONGEST_SECONDS = 900.0


def test_passports_are_made_once_each_while_workers_are_killed(db: Database, tmp_path: Path) -> None:
    path = pipeline(db)
    builds = [path.build(battery(tmp_path / str(number), f"SERIAL-{number:03}")) for number in range(BUILDS)]
    with fleet(db, 3) as workers:
        killed = kill_until_done(path, workers, builds)
    print(f"{killed} workers were killed")
    assert killed >= 3
    rows = db.run(
        "SELECT status, qr_png IS NOT NULL AS has_code, count(*) AS n FROM passport_versions GROUP BY 1, 2"
    )
    assert rows == [{"status": "SIGNED", "has_code": True, "n": BUILDS}]
    per_passport = db.run("SELECT FROM passport_versions GROUP BY passport_id HAVING count(*) > 1")
    assert per_passport == []
    assert check_chains(db) > BUILDS
    db.check_history()
    replayed = command(db.url_as("bpc_app"), "passport", "replay", "--all", "--tenant", "acme")
    assert replayed.returncode == 0, replayed.stderr
    assert replayed.stdout.count("OK") == BUILDS


@contextmanager
def fleet(db: Database, size: int) -> Iterator["Fleet"]:
    with ExitStack() as running:
        yield Fleet(running, db.url_as("bpc_worker"), size)


class Fleet:
    """Workers of which one dies now and then, and another takes its place."""

    def __init__(self, running: ExitStack, url: str, size: int) -> None:
        self._running = running
        self._url = url
        self._workers = [self._start() for _ in range(size)]

    def _start(self) -> Worker:
        return self._running.enter_context(worker(self._url, **lease(6, 3), BPC_LOG_LEVEL="warning"))

    def kill_one(self) -> None:
        at = random.randrange(len(self._workers))
        self._workers[at].end()
        self._workers[at] = self._start()


def kill_until_done(path: Pipeline, workers: Fleet, builds: list[UUID]) -> int:
    killed = 0
    ends_at = time.monotonic() + LONGEST_SECONDS
    while time.monotonic() < ends_at:
        rows = path.db.run("SELECT state, count(*) AS n FROM passport_builds GROUP BY state")
        if rows == [{"state": "DONE", "n": len(builds)}]:
            return killed
        time.sleep(KILL_EVERY_SECONDS)
        workers.kill_one()
        killed += 1
    raise AssertionError(f"not done within {LONGEST_SECONDS:g} s: {rows}")
