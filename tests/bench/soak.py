"""Does a worker stay as it is for twenty minutes? `python -m tests.bench.soak [minutes] [jobs a second]`.

Jobs of five sorts come at a steady rate: nothing, a row written, one failed attempt first, work in a child,
a follow-up. Every ten seconds, or a thirtieth of the time when that is less, the worker's memory, files,
threads, children and connections are read. The last fifth is compared with the second (the first warms up):
growth by more than 5 % and 2 MB, or 5 % and two pieces, is a leak, and the exit code is 1. So it is when the
worker could not keep up, for then something else was measured.
"""

import json
import sys
import time
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from statistics import mean

import psycopg

from tests.support import database as databases
from tests.support.children import processes_below
from tests.support.database import Database
from tests.support.worker import Worker, until, worker

MINUTES = 20.0
JOBS_A_SECOND = 200
SAMPLE_SECONDS = 10.0
FEED_SECONDS = 0.25
GROWTH = 0.05
SLACK = {"rss_mb": 2.0, "children_mb": 2.0}  # of all others two pieces
SLACK_PIECES = 2.0
MOST_BEHIND_SECONDS = 10  # of work that waits at the end of a sample

# Of twenty jobs: what each is for.
MIX = (
    *[("TEST_NOOP", "{}")] * 10,
    *[("TEST_EFFECT", '{"key": "soak"}')] * 4,
    *[("TEST_FAIL", '{"until": 2}')] * 2,
    *[("TEST_CPU_A", '{"rounds": 1000}')] * 2,
    *[("TEST_FOLLOW", '{"depth": 1}')] * 2,
)


@dataclass(frozen=True)
class Sample:
    """What the worker has at one moment."""

    rss_mb: float
    children_mb: float
    files: int
    threads: int
    children: int
    connections: int


def sample(db: Database, running: Worker) -> Sample:
    proc = Path(f"/proc/{running.pid}")
    below = processes_below(running.pid)
    connections = db.one(
        "SELECT count(*) AS n FROM pg_stat_activity WHERE starts_with(application_name, 'bpc-worker')"
    )
    return Sample(
        rss_mb=rss(running.pid),
        children_mb=sum(map(rss, below)),
        files=len(list((proc / "fd").iterdir())),
        threads=len(list((proc / "task").iterdir())),
        children=len(below),
        connections=int(str(connections["n"])),
    )


def rss(pid: int) -> float:
    """Resident megabytes; none where the process has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    found = [line for line in status.splitlines() if line.startswith("VmRSS")]
    return int(found[0].split()[1]) / 1024 if found else 0.0


class Feed:
    """Inserts what is due by now, in the order of the mix."""

    def __init__(self, db: Database, rate: int) -> None:
        self._connection = psycopg.connect(db.url, autocommit=True)
        self._tenant = db.tenant()
        self._rate = rate
        self._started = time.monotonic()
        self.fed = 0

    def catch_up(self) -> None:
        due = round((time.monotonic() - self._started) * self._rate) - self.fed
        jobs = [MIX[(self.fed + place) % len(MIX)] for place in range(due)]
        self._connection.execute(
            "INSERT INTO jobs (tenant_id, type, payload)"
            " SELECT %s, type, payload::jsonb FROM unnest(%s::text[], %s::text[]) AS new (type, payload)",
            [self._tenant, [name for name, _ in jobs], [payload for _, payload in jobs]],
        )
        self.fed += due

    def close(self) -> None:
        self._connection.close()


def waiting(db: Database) -> int:
    row = db.one(
        "SELECT count(*) AS n FROM jobs WHERE status IN ('QUEUED', 'RUNNING') AND scheduled_at < now()"
    )
    return int(str(row["n"]))


def soak(db: Database, running: Worker, *, seconds: float, rate: int) -> tuple[list[Sample], int, int]:
    """Samples, jobs fed, and the most that ever waited."""
    feed, samples, most_behind = Feed(db, rate), [], 0
    every = min(SAMPLE_SECONDS, seconds / 30)
    ends_at = time.monotonic() + seconds
    next_sample = time.monotonic() + every
    try:
        while time.monotonic() < ends_at:
            feed.catch_up()
            if time.monotonic() >= next_sample:
                next_sample += every
                behind = waiting(db)
                most_behind = max(most_behind, behind)
                samples.append(sample(db, running))
                print(json.dumps({"fed": feed.fed, "behind": behind, **asdict(samples[-1])}), flush=True)
            time.sleep(FEED_SECONDS)
    finally:
        feed.close()
    return samples, feed.fed, most_behind


def fifths(values: list[float]) -> tuple[float, float]:
    """The means of the second and of the last."""
    size = max(1, len(values) // 5)
    return mean(values[size : 2 * size]), mean(values[-size:])


def grown(samples: list[Sample]) -> dict[str, tuple[float, float]]:
    """What grew by more than it may: what it was, and what it is."""
    found = {}
    for name in (each.name for each in fields(Sample)):
        before, after = fifths([float(getattr(each, name)) for each in samples])
        if after > before * (1 + GROWTH) + SLACK.get(name, SLACK_PIECES):
            found[name] = (round(before, 1), round(after, 1))
    return found


def main(minutes: float = MINUTES, rate: float = JOBS_A_SECOND) -> int:
    with databases.postgres() as server:
        databases.make_template(server)
        with (
            databases.database(server) as db,
            worker(db.url_as("bpc_worker"), BPC_LOG_LEVEL="info", BPC_JOBS_BACKOFF_BASE=1) as running,
        ):
            running.wait_ready()
            samples, fed, most_behind = soak(db, running, seconds=minutes * 60, rate=round(rate))
            until(lambda: not unfinished(db), within=120, what="the rest", every=0.5)
            lost = ended_badly(db)
            code = running.stop()
    too_much = grown(samples)
    kept_up = most_behind <= MOST_BEHIND_SECONDS * rate
    flat = {
        each.name: [round(value, 1) for value in fifths([float(getattr(one, each.name)) for one in samples])]
        for each in fields(Sample)
    }
    print(
        json.dumps({
            "minutes": minutes, "jobs_fed": fed, "most_behind": most_behind, "kept_up": kept_up,
            "ended_badly": lost, "exit_code": code, "second_and_last_fifth": flat, "grown": too_much,
        })
    )  # fmt: skip
    return 0 if not too_much and kept_up and not lost and code == 0 else 1


def unfinished(db: Database) -> bool:
    return bool(db.run("SELECT FROM jobs WHERE status IN ('QUEUED', 'RUNNING') LIMIT 1"))


def ended_badly(db: Database) -> int:
    row = db.one("SELECT count(*) AS n FROM jobs WHERE status <> 'SUCCEEDED'")
    return int(str(row["n"]))


if __name__ == "__main__":
    sys.exit(main(*map(float, sys.argv[1:3])))
