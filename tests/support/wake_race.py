"""How long a wake-up takes, beside that of a program that only consumes and claims."""

import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import quantiles
from typing import Self, cast

import psycopg

from tests.support import bare_consumer
from tests.support.broker import Publisher
from tests.support.database import Database
from tests.support.worker import until

BARE_CONSUMER = Path(bare_consumer.__file__)


@contextmanager
def a_bare_consumer(amqp_url: str, database_url: str) -> Iterator[None]:
    process = subprocess.Popen(
        [sys.executable, str(BARE_CONSUMER), amqp_url, database_url], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "listening\n"
        yield
    finally:
        process.kill()
        process.wait(timeout=10)
        if process.stdout is not None:
            process.stdout.close()


@dataclass(frozen=True, slots=True)
class Latencies:
    """Milliseconds from a moment in the producer to the start of the handler."""

    p50: float
    p99: float

    @classmethod
    def of(cls, samples: Sequence[float]) -> Self:
        cuts = quantiles(samples, n=100)
        return cls(p50=cuts[49], p99=cuts[98])

    def over(self, other: "Latencies") -> "Latencies":
        return Latencies(self.p50 / other.p50, self.p99 / other.p99)


@dataclass(frozen=True, slots=True)
class Race:
    """What a worker and a bare consumer took in the same run, from the INSERT and from the publish."""

    worker: Mapping[str, Latencies]
    bare: Mapping[str, Latencies]

    def ratio(self, since: str) -> Latencies:
        return self.worker[since].over(self.bare[since])

    def __str__(self) -> str:
        lines = []
        for since in ("insert", "publish"):
            ours, bare, ratio = self.worker[since], self.bare[since], self.ratio(since)
            lines.append(
                f"since {since}: worker p50 {ours.p50:.2f} p99 {ours.p99:.2f} ms,"
                f" bare p50 {bare.p50:.2f} p99 {bare.p99:.2f} ms, ratio {ratio.p50:.2f} / {ratio.p99:.2f}"
            )
        return "\n".join(lines)


def race(db: Database, amqp_url: str, *, rounds: int, warm_up: int = 20) -> Race:
    """Jobs one after the other, by turns for the worker and for a bare consumer."""
    sent: dict[str, list[tuple[str, int, int]]] = {"TEST_NOOP": [], bare_consumer.JOB_TYPE: []}
    tenant = db.tenant()
    with (
        a_bare_consumer(amqp_url, db.url),
        Publisher(amqp_url, "bpc") as to_worker,
        Publisher(amqp_url, bare_consumer.EXCHANGE) as to_bare,
        psycopg.connect(db.url, autocommit=True) as connection,
    ):
        for _ in range(rounds + warm_up):
            for job_type, publisher in (("TEST_NOOP", to_worker), (bare_consumer.JOB_TYPE, to_bare)):
                before_insert = time.monotonic_ns()
                cursor = connection.execute(
                    "INSERT INTO jobs (tenant_id, type, payload) VALUES (%s, %s, '{}') RETURNING job_id",
                    [tenant, job_type],
                )
                job_id = str(cast("tuple[object]", cursor.fetchone())[0])
                before_publish = time.monotonic_ns()
                publisher.trigger(job_id)
                sent[job_type].append((job_id, before_insert, before_publish))
                until(partial(_ended, connection, job_id), within=30, every=0.01)
    ours, bare = (_latencies(db, each[warm_up:]) for each in sent.values())
    return Race(worker=ours, bare=bare)


def _ended(connection: psycopg.Connection, job_id: str) -> bool:
    row = connection.execute("SELECT status::text FROM jobs WHERE job_id = %s", [job_id]).fetchone()
    return row == ("SUCCEEDED",)


def _latencies(db: Database, sent: Sequence[tuple[str, int, int]]) -> dict[str, Latencies]:
    rows = db.run("SELECT job_id, (result ->> 'started_ns')::bigint AS started_ns FROM jobs")
    started = {str(row["job_id"]): cast("int", row["started_ns"]) for row in rows}
    since_insert = [(started[job_id] - before) / 1e6 for job_id, before, _ in sent]
    since_publish = [(started[job_id] - before) / 1e6 for job_id, _, before in sent]
    return {"insert": Latencies.of(since_insert), "publish": Latencies.of(since_publish)}
