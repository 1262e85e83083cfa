"""How long does a tenant's first job wait beside another's thousands, and is the order of priorities kept?"""

import asyncio
import random
from datetime import datetime
from typing import Final

from bpc_worker.jobs.model import Claim, Status
from bpc_worker.jobs.settlement import Settlement
from tests.bench.bench import Bench, settle_down
from tests.bench.filling import fill
from tests.bench.ours import store
from tests.bench.results import Figure, Found, Goal, p50, p95
from tests.support.database import Database
from tests.support.worker import until, worker

BACKLOG: Final = 20_000
TRIALS: Final = 20
SECONDS: Final = 0.02  # of one job: ten at a time need forty seconds for the backlog
ORDERED, QUICK_ORDERED = 10_000, 3_000
BATCH: Final = 10
DONE: Final = Settlement(status=Status.SUCCEEDED)
COUNTED: Final = (
    "Start delay: a worker with its defaults is busy with one tenant's 20,000 jobs of 20 ms each; a new"
    " tenant queues one job of the same priority, 20 times one after the other, each time a new tenant."
    " Seconds from created_at to started_at. Inversions: jobs of random priorities and due times of five"
    " tenants, claimed by the 10 until none is left; a job counts that was claimed while a better one"
    " was left, unless it was the first of a claim whose turn it was (every fourth goes round the"
    " tenants, every eighth to the oldest)."
)


def delays(bench: Bench) -> list[float]:
    with bench.database() as db:
        fill(db, BACKLOG, job_type="TEST_SLEEP", payload=f'{{"seconds": {SECONDS}}}')
        settle_down(db)
        with worker(db.url_as("bpc_worker"), BPC_LOG_LEVEL="info"):
            until(lambda: db.run("SELECT FROM jobs WHERE status = 'SUCCEEDED' LIMIT 1"), within=30)
            found = [delay(db, number) for number in range(TRIALS)]
        left = db.one("SELECT count(*) AS left FROM jobs WHERE status = 'QUEUED'")["left"]
        assert int(str(left)) > BACKLOG // 10, "the backlog was gone too early: there was nothing to wait for"
    return found


def delay(db: Database, number: int) -> float:
    job_id = db.one(
        "INSERT INTO jobs (tenant_id, type) VALUES (%s, 'TEST_NOOP') RETURNING job_id",
        [db.tenant(f"new-{number}")],
    )["job_id"]

    def waited() -> object:
        row = db.one(
            "SELECT extract(epoch FROM started_at - created_at)::float AS waited FROM jobs WHERE job_id = %s",
            [job_id],
        )
        return row["waited"]

    return float(str(until(waited, within=60, what="the new tenant's job", every=0.05)))


def inversions(bench: Bench) -> tuple[int, int]:
    """Jobs that were claimed before a better one, outside the two shares, and within them."""
    count = bench.much(ORDERED, QUICK_ORDERED)
    with bench.database() as db:
        tenants = [db.tenant(f"tenant-{number}") for number in range(5)]
        rows = [(random.choice(tenants), random.randrange(4), random.randrange(3600)) for _ in range(count)]
        with db.connect() as connection, connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO jobs (tenant_id, type, priority, scheduled_at)"
                " VALUES (%s, 'TEST_NOOP', %s, now() - make_interval(secs => %s))",
                rows,
            )
        settle_down(db)
        return judged(asyncio.run(drained(db)))


async def drained(db: Database) -> list[list[Claim]]:
    jobs, looks = store(db.url), []
    while (look := await jobs.claim(limit=BATCH)).claims:
        looks.append(list(look.claims))
        await jobs.settle_group([(claim, DONE) for claim in look.claims])
    jobs.close()
    return looks


def judged(looks: list[list[Claim]]) -> tuple[int, int]:
    def place(claim: Claim) -> tuple[int, datetime]:
        return claim.priority, claim.scheduled_at

    outside = within = 0
    waiting = sorted((place(claim) for look in looks for claim in look), reverse=True)
    for number, look in enumerate(looks, start=1):
        has_turn = number % 4 == 0 or number % 8 == 1
        for at, claim in enumerate(look):
            if place(claim) == waiting[-1]:
                waiting.pop()
                continue
            waiting.remove(place(claim))
            if has_turn and at == 0:
                within += 1
            else:
                outside += 1
    return outside, within


def measure(bench: Bench) -> Found:
    waited = delays(bench)
    outside, within = inversions(bench)
    bench.log(f"fairness: p50 {p50(waited):.2f} p95 {p95(waited):.2f} s, {outside} inversions")
    settings = f"n = {len(waited)}"
    figures = [
        Figure(name="start delay, p50", unit="s", values=(p50(waited),), settings=settings),
        Figure(name="start delay, p95", unit="s", values=(p95(waited),), settings=settings),
        Figure(name="inversions outside the shares", unit="jobs", values=(outside,)),
        Figure(name="inversions by the shares", unit="jobs", values=(within,)),
    ]
    goals = [
        Goal(name="start delay, p95", value=p95(waited), at_most=5.0, unit="s"),
        Goal(name="inversions outside the shares", value=outside, at_most=0.0),
    ]
    return Found(title="fairness and order", counted=COUNTED, figures=figures, goals=goals)
