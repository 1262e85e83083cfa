"""What does a claim cost: by the length of the queue, and by what lies ahead of the jobs it may take?"""

import asyncio
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Final
from unittest import mock

from bpc_worker import registry
from bpc_worker.jobs.model import Status
from bpc_worker.jobs.queue_settings import QueueSettings
from bpc_worker.jobs.settlement import Settlement
from bpc_worker.jobs.store import Pause, PauseKind
from bpc_worker.postgres.dsn import Dsn
from bpc_worker.postgres.queue.store import PostgresJobs
from tests.bench.bench import DEFAULTS, OURS, Bench, fresh_database, make_template, settle_down
from tests.bench.filling import fill
from tests.bench.results import Found, Goal, Rounds, p50, p99
from tests.support.database import Database, postgres

CLAIMS, QUICK_CLAIMS = 500, 150
BLOCK: Final = 25
BATCH: Final = 10
WARM_UP: Final = 20
OTHER_SERVER: Final = Path("/usr/lib/postgresql/15/bin")
DONE: Final = Settlement(status=Status.SUCCEEDED, result="{}")
COUNTED: Final = (
    "Milliseconds of PostgresJobs.claim(limit=10) by one store that handles all types of the product in"
    " two queues, always from the beginning (fresh). What was claimed is settled in between, untimed."
    " All cases are prepared first, each in its own database, and take turns by blocks of 25 claims."
)

Prepare = Callable[[Database, Bench], None]


def few(db: Database, _: Bench) -> None:
    fill(db, 10_000)


def many(db: Database, bench: Bench) -> None:
    count = bench.much(1_000_000, 100_000)
    fill(db, count, status="SUCCEEDED")
    fill(db, count)


def foreign(db: Database, bench: Bench) -> None:
    fill(db, bench.much(100_000, 20_000), job_type="FOREIGN_TYPE", priority=0, due="-2 hours")
    fill(db, 10_000)


def paused(db: Database, bench: Bench) -> None:
    fill(db, bench.much(100_000, 20_000), queue="slow", priority=0, due="-2 hours")
    fill(db, 10_000)
    asyncio.run(_pause(db))


async def _pause(db: Database) -> None:
    jobs = store(db)
    await jobs.pause(Pause(kind=PauseKind.QUEUE, name="slow", reason="bench"))
    jobs.close()


def future(db: Database, bench: Bench) -> None:
    fill(db, bench.much(100_000, 20_000), priority=0, due="1 day")
    fill(db, 10_000)


def tenants(db: Database, bench: Bench) -> None:
    """The last one's jobs stand behind those of a thousand others; every fourth claim goes round them."""
    fill(db, bench.much(100_000, 20_000), tenants=1000, due="-2 hours")
    fill(db, 10_000)


AHEAD: Final[dict[str, Prepare]] = {
    "jobs of a foreign type ahead": foreign,
    "jobs of a paused queue ahead": paused,
    "future jobs of a higher priority": future,
    "jobs of 1,000 tenants ahead": tenants,
}


def store(db: Database) -> PostgresJobs:
    types = (*sorted(registry.load()), "TEST_NOOP")
    dsn = Dsn(url=db.url, application_name="bpc-bench", engine=True)
    return PostgresJobs(dsn, QueueSettings(owner="bench", types=types, queues=("default", "slow")))


class Claimer:
    """Claims and settles, and remembers how long the claims took."""

    def __init__(self, db: Database) -> None:
        self._jobs = store(db)
        self.taken: list[float] = []

    async def run(self, times: int) -> None:
        for _ in range(times):
            began = time.perf_counter()
            look = await self._jobs.claim(limit=BATCH)
            self.taken.append((time.perf_counter() - began) * 1000)
            assert len(look.claims) == BATCH
            await self._jobs.settle_group([(claim, DONE) for claim in look.claims])

    def close(self) -> None:
        self._jobs.close()


async def race(dbs: Sequence[Database], times: int) -> list[list[float]]:
    """The cases take turns, so that a busy moment of the machine meets all of them."""
    claimers = [Claimer(db) for db in dbs]
    for claimer in claimers:
        await claimer.run(WARM_UP)
        claimer.taken.clear()
    for _ in range(times // BLOCK):
        for claimer in claimers:
            await claimer.run(BLOCK)
    for claimer in claimers:
        claimer.close()
    return [claimer.taken for claimer in claimers]


Databases = Callable[[str], AbstractContextManager[Database]]


@contextmanager
def other_server() -> Iterator[Databases]:
    """Databases on the other PostgreSQL."""
    with mock.patch.dict(os.environ, BPC_TEST_PG_BIN=str(OTHER_SERVER)), postgres(DEFAULTS) as server:
        make_template(server, OURS)
        yield lambda name: fresh_database(server, name, OURS)


def _cases(bench: Bench) -> dict[str, Prepare]:
    size = f"{bench.much(1_000_000, 100_000):,}"
    return {"10,000 queued": few, f"{size} queued, {size} finished": many} | {
        f"{bench.much(100_000, 20_000):,} {what}": prepare for what, prepare in AHEAD.items()
    }


def _on(bench: Bench, server: str, databases: Databases, rounds: Rounds) -> list[Goal]:
    cases = _cases(bench)
    with ExitStack() as opened:
        dbs = [opened.enter_context(databases(f"claim_{number}")) for number in range(len(cases))]
        for db, prepare in zip(dbs, cases.values(), strict=True):
            prepare(db, bench)
            settle_down(db)
        found = asyncio.run(race(dbs, bench.much(CLAIMS, QUICK_CLAIMS)))
    for name, taken in zip(cases, found, strict=True):
        bench.log(f"claim, {server}: {name}: p50 {p50(taken):.2f} p99 {p99(taken):.2f} ms")
        for what, of in (("p50", p50), ("p99", p99)):
            rounds.add(f"{server}, {name}, {what}", "ms", of(taken), f"n = {len(taken)}")
    small, large, *ahead = (rounds[f"{server}, {name}, p50", "ms"] for name in cases)
    return [
        Goal(name=f"{large.name} : 10,000 queued", value=large.over(small), at_most=1.5),
        *(Goal(name=each.name, value=each.median, at_most=3.0, unit="ms") for each in ahead),
    ]


def measure(bench: Bench) -> Found:
    rounds, left_out = Rounds(), []
    goals = _on(bench, "PostgreSQL 18", lambda _: bench.database(), rounds)
    if bench.quick:
        left_out.append("PostgreSQL 15, in a quick run")
    elif not OTHER_SERVER.exists():
        left_out.append(f"PostgreSQL 15: it is not installed in {OTHER_SERVER}")
    else:
        with other_server() as databases:
            goals += _on(bench, "PostgreSQL 15", databases, rounds)
    return Found(
        title="the cost of a claim",
        counted=COUNTED,
        figures=rounds.figures(),
        goals=goals,
        left_out=left_out,
    )
