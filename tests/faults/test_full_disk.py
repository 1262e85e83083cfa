"""A disk that is full for a while: what was done stays done."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from tests.support.database import Database
from tests.support.outages import all_succeed, at_first_attempt, lease, succeeded
from tests.support.worker import until, worker

FULL_SECONDS = 40.0
JOBS, RESULT_BYTES = 8, 900_000


@pytest.fixture
def small_disk(own_db: Database) -> Iterator[Path]:
    """A file system of 24 MB, mounted for the server's account."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root can mount a small file system")
    root = Path(tempfile.mkdtemp(prefix="bpc-disk-"))
    size = ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(root)]
    if subprocess.run(size, check=False, capture_output=True).returncode != 0:
        root.rmdir()
        pytest.skip("this machine lets nobody mount")
    try:
        root.chmod(0o711)
        space = root / "space"
        space.mkdir()
        assert own_db.server.account is not None  # as whom root starts one
        shutil.chown(space, own_db.server.account)
        yield space
        own_db.run("ALTER TABLE jobs SET TABLESPACE pg_default")
        own_db.run("DROP TABLE IF EXISTS ballast")
        own_db.run("DROP TABLESPACE small")
    finally:
        subprocess.run(["umount", "-l", str(root)], check=True)
        root.rmdir()


def fill(db: Database) -> None:
    """To the last page; what was begun and did not fit is given back, so smaller and smaller pieces."""
    db.run("CREATE TABLE ballast (block text) TABLESPACE small")
    db.run("ALTER TABLE ballast ALTER block SET STORAGE PLAIN")
    for rows in (1000, 100, 10, 1):
        with suppress(psycopg.errors.DiskFull):
            while True:
                db.run("INSERT INTO ballast SELECT repeat('x', 8000) FROM generate_series(1, %s)", [rows])


@pytest.mark.parametrize("leased", [lease(60, 30, reap=1), lease(12, 4, reap=1)], ids=["60 s", "12 s"])
def test_results_find_their_place_when_there_is_room_again(
    own_db: Database, small_disk: Path, tmp_path: Path, leased: dict[str, object]
) -> None:
    db, effects = own_db, tmp_path / "effects"
    db.run(f"CREATE TABLESPACE small LOCATION '{small_disk}'")
    db.run("ALTER TABLE jobs SET TABLESPACE small")
    with worker(db.url, **leased) as running, worker(db.url, **leased) as other:
        running.wait_ready()
        other.wait_ready()
        payload = f'{{"effects": "{effects}", "size": {RESULT_BYTES}, "seconds": 3}}'
        jobs = [db.enqueue("TEST_LARGE", payload) for _ in range(JOBS)]
        until(lambda: len(db.run("SELECT FROM jobs WHERE status = 'RUNNING'")) == JOBS, within=20)
        fill(db)
        full_at = time.monotonic()
        until(lambda: effects.exists() and len(effects.read_text().split()) >= JOBS, within=20)
        while time.monotonic() < full_at + FULL_SECONDS:
            assert not db.run("SELECT FROM jobs WHERE status IN ('FAILED', 'DEAD_LETTER')")
            time.sleep(1)
        waiting = JOBS - len(db.run("SELECT FROM jobs WHERE status = 'SUCCEEDED'"))
        assert waiting > 0, "some found no room"

        db.run("DROP TABLE ballast")
        freed_at = time.monotonic()
        until(lambda: succeeded(db, jobs), within=60)
        print(f"{waiting} of {JOBS} found no room for {FULL_SECONDS:.0f} s;", end=" ")
        print(f"all were written {time.monotonic() - freed_at:.1f} s after there was some")
        all_succeed(db, within=10)

        assert running.stop() == other.stop() == 0
    assert sorted(effects.read_text().split()) == sorted(jobs), "one effect of each"
    assert at_first_attempt(db, jobs)
    db.check_history()
