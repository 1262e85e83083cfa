"""Schedules over real minutes, with workers killed at the full minute."""

import signal
import time
from random import Random

from tests.support.database import Database
from tests.support.schedules import LAST_TICK, MINUTELY, keys
from tests.support.worker import until, worker

MINUTES = 4


def test_two_workers_one_of_them_killed_around_every_full_minute(db: Database) -> None:
    db.tenant()
    db.run(LAST_TICK)
    url, dice = db.url_as("bpc_worker"), Random(16)
    began = db.one("SELECT date_trunc('minute', now()) AS at")["at"]
    with worker(url, **MINUTELY) as steady:
        for _ in range(MINUTES):
            with worker(url, **MINUTELY) as victim:
                victim.wait_ready()
                into = float(str(db.one("SELECT extract(epoch FROM now())::float8 AS s")["s"])) % 60
                time.sleep(60 - into + dice.uniform(0, 1.2))
                victim.send(signal.SIGKILL)
                victim.wait(10)
        until(lambda: not db.run("SELECT FROM jobs WHERE status <> 'SUCCEEDED'"), within=90)
        assert steady.stop() == 0

    found = keys(db)
    expected = db.run(
        'SELECT to_char(m AT TIME ZONE \'UTC\', \'"schedule:often:"YYYY-MM-DD"T"HH24:MI"Z"\') AS key'
        " FROM generate_series(%s::timestamptz, %s::timestamptz + %s * interval '1 minute', '1 minute') AS m",
        [began, began, MINUTES],
    )
    print(found)
    assert len(found) == len(set(found))
    assert set(found) >= {row["key"] for row in expected}
    db.check_history()
