"""Do claims and settles get slower after 200,000 jobs, or while somebody holds a snapshot?"""

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Final
from uuid import UUID

import psycopg

from bpc_worker.jobs.model import NewJob, Status, TenantId
from bpc_worker.jobs.settlement import Settlement
from tests.bench.bench import Bench, settle_down
from tests.bench.ours import store
from tests.bench.results import Found, Goal, Rounds, p50
from tests.support.database import Database

JOBS, QUICK_JOBS = 200_000, 20_000
BATCH: Final = 50
BULK: Final = 1_000
POLL_SECONDS: Final = 1.0  # how often a worker forgets what it knew
DONE: Final = Settlement(status=Status.SUCCEEDED, result="{}")
FREE, PINNED, WITHOUT = "nobody in the way", "a snapshot held", "a snapshot held, without the remedy"
WAYS: Final = ((FREE, False, False), (PINNED, True, False), (WITHOUT, True, True))
COUNTED: Final = (
    "Jobs queued by the 1,000, claimed and settled by the 50 through PostgresJobs, the p50 of the last"
    " tenth of the calls beside that of the first. Held: a REPEATABLE READ transaction from before the"
    " first job to after the last. The remedy: a store remembers how far a place is emptied until the"
    " next poll, here every second; without it, every claim is `fresh`. The three take turns by the"
    " 1,000 jobs, each in its own database."
)


@contextmanager
def snapshot(db: Database, *, held: bool) -> Iterator[None]:
    if not held:
        yield
        return
    with psycopg.connect(db.url) as connection:
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        connection.execute("SELECT count(*) FROM tenants")
        yield
        connection.rollback()


class Churner:
    """Queues, claims and settles; remembers the milliseconds of every claim and every settle."""

    def __init__(self, db: Database, *, always_fresh: bool) -> None:
        self._jobs = store(db.url)
        self._tenant = TenantId(UUID(db.tenant()))
        self._always_fresh = always_fresh
        self._fresh_at = 0.0
        self.claiming: list[float] = []
        self.settling: list[float] = []

    async def bulk(self) -> None:
        await self._jobs.enqueue_many(self._tenant, [NewJob(type="TEST_NOOP")] * BULK)
        for _ in range(BULK // BATCH):
            began = time.perf_counter()
            fresh = self._always_fresh or began - self._fresh_at >= POLL_SECONDS
            self._fresh_at = began if fresh else self._fresh_at
            look = await self._jobs.claim(limit=BATCH, fresh=fresh)
            claimed = time.perf_counter()
            assert len(look.claims) == BATCH
            settled = await self._jobs.settle_group([(claim, DONE) for claim in look.claims])
            assert len(settled) == BATCH
            self.claiming.append((claimed - began) * 1000)
            self.settling.append((time.perf_counter() - claimed) * 1000)

    def close(self) -> None:
        self._jobs.close()


async def race(churners: Sequence[Churner], count: int) -> None:
    for _ in range(count // BULK):
        for churner in churners:
            await churner.bulk()
    for churner in churners:
        churner.close()


def tenths(samples: list[float]) -> tuple[float, float]:
    size = len(samples) // 10
    return p50(samples[:size]), p50(samples[-size:])


def measure(bench: Bench) -> Found:
    count = bench.much(JOBS, QUICK_JOBS)
    with ExitStack() as opened:
        churners = {}
        for name, held, always_fresh in WAYS:
            db = opened.enter_context(bench.database())
            settle_down(db)
            opened.enter_context(snapshot(db, held=held))
            churners[name] = Churner(db, always_fresh=always_fresh)
        asyncio.run(race(list(churners.values()), count))
    rounds, goals = Rounds(), []
    for name, churner in churners.items():
        for what, samples in (("claim", churner.claiming), ("settle", churner.settling)):
            first, last = tenths(samples)
            bench.log(f"churn, {name}: {what} {first:.2f} → {last:.2f} ms")
            rounds.add(f"{name}: {what}, first tenth", "ms", first, f"{count:,} jobs")
            rounds.add(f"{name}: {what}, last tenth", "ms", last, f"{count:,} jobs")
            if name != WITHOUT:
                goals.append(Goal(name=f"{name}: {what}, last : first", value=last / first, at_most=2.0))
    return Found(title="churn", counted=COUNTED, figures=rounds.figures(), goals=goals)
