"""How many webhooks a second reach a receiver, beside bare clients that post the same bodies?"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.bench.bench import Bench, module, program, settle_down
from tests.bench.bench_worker import bench_worker
from tests.bench.procs import exact_seconds
from tests.bench.results import Found, Goal, Rounds
from tests.support.certificates import Authority
from tests.support.database import Database
from tests.support.pipeline import Pipeline
from tests.support.webhook_receiver import endpoint, reaching
from tests.support.worker import until

DELIVERIES, QUICK_DELIVERIES = 2_000, 300
CONCURRENCY: Final = 10
RATE: Final = "deliveries/s"
CPU: Final = "ms CPU each"
OURS, LOOP = "ours", "bare loop, one after another"
BARE, KEPT = "bare client, a connection each", "bare client, connections kept"
RATIO: Final = "of its rate"
GOAL_RATIO: Final = 0.5
COUNTED: Final = (
    "Deliveries of events to one https receiver on this machine, in a process of its own, queued beforehand;"
    " counted by the database's time stamps, from the first claim to the last end. Ours: one worker of"
    " concurrency 20, 10 deliveries at a time to one endpoint: rows, seals, signatures, guard, leases."
    " Bare: an aiohttp client that posts the same bodies and does nothing else, 10 at a time with a"
    " connection each, 10 at a time over connections that it keeps, or one after another over one connection."
    " Ours keeps connections as well (docs/adr/0011), so it is the second that does the same with them; what"
    " ours does besides, two transactions, a seal, three signatures and a queue's share, takes several times"
    " what a request over a kept connection takes. The goal is half the rate of the first; how much of the"
    " others is reached, which is less than half, the table says. CPU: of the sender's process alone."
)


@contextmanager
def receiving(folder: Path) -> Iterator[tuple[str, dict[str, str], Authority]]:
    """The URL, and with what a worker reaches it."""
    authority = Authority(folder)
    with program(module("webhook_receiver"), do="serve", chain=str(authority.chain("127.0.0.1"))) as there:
        port = int(there.hear()["port"])
        yield f"https://127.0.0.1:{port}/hook", reaching(port, authority), authority


def fill(db: Database, count: int) -> None:
    """Events as passports make them; the trigger adds delivery and job."""
    db.run(
        "WITH said AS MATERIALIZED ("
        "  SELECT gen_random_uuid() AS id, clock_timestamp() AS at, bpc_canonical_json(jsonb_build_object("
        "    'passport_version_id', gen_random_uuid(), 'signing_key_id', 'bench', 'salt', repeat('5a', 16),"
        "    'receipt_hash', encode(sha256(n::text::bytea), 'hex'), 'signature', repeat('5f', 64))) AS text"
        "  FROM generate_series(1, %(count)s) AS n"
        "), hashed AS ("
        "  SELECT *, sha256(convert_to(text, 'UTF8')) AS hash, 'login:' || session_user AS actor FROM said)"
        " INSERT INTO events (tenant_id, aggregate_type, aggregate_id, aggregate_version, event_type,"
        "   occurred_at, actor_id, payload_text, payload_hash, event_hash)"
        " SELECT %(tenant)s, 'passport', id, 1, 'PASSPORT_SIGNED', at, actor, text, hash,"
        "   bpc_event_hash(%(tenant)s, 'passport', id, 1, 'PASSPORT_SIGNED', at, actor, hash, NULL)"
        " FROM hashed",
        {"tenant": db.tenant(), "count": count},
    )


@dataclass(frozen=True)
class Sent:
    """Deliveries per second, and milliseconds of CPU that each took the sender's process."""

    rate: float
    cpu: float


def ours(bench: Bench, folder: Path, url: str, settings: dict[str, str], count: int) -> Sent:
    """The bodies are left in the folder."""
    with bench.database() as db:
        db.tenant()
        endpoint(Pipeline(db), url, settings)
        fill(db, count)
        settle_down(db)
        rows = db.run("SELECT encode(body, 'hex') AS body FROM webhook_deliveries")
        (folder / "bodies").write_text("".join(f"{row['body']}\n" for row in rows))
        more = {"BPC_WORKER_CONCURRENCY": 2 * CONCURRENCY, "BPC_WEBHOOK_ENDPOINT_CONCURRENCY": CONCURRENCY}
        with bench_worker(db.url_as("bpc_worker"), **settings, **more) as running:
            until(lambda: running.said("started"), within=30, what="started")
            before = exact_seconds(running.pid)
            until(
                lambda: not db.run("SELECT FROM jobs WHERE status IN ('QUEUED', 'RUNNING') LIMIT 1"),
                within=180, what="all deliveries", every=0.25,
            )  # fmt: skip
            used = exact_seconds(running.pid) - before
        row = db.one(
            "SELECT count(*) AS done,"
            " extract(epoch FROM max(finished_at) - min(started_at))::float AS seconds"
            " FROM jobs JOIN webhook_deliveries d ON d.webhook_delivery_id::text = idempotency_key"
            " WHERE jobs.status = 'SUCCEEDED' AND d.status = 'DELIVERED' AND jobs.attempts = 1"
        )
        assert row["done"] == count
        return Sent(count / float(str(row["seconds"])), 1000 * used / count)


def bare(
    folder: Path, url: str, authority: Authority, *, keep_alive: bool, concurrency: int = CONCURRENCY
) -> Sent:
    more = {"bodies": str(folder / "bodies"), "concurrency": concurrency, "keep_alive": keep_alive}
    with program(module("bare_posts"), do="post", url=url, ca_file=str(authority.ca_file), **more) as posting:
        said = posting.hear()
        count = float(said["count"])
        return Sent(count / float(said["seconds"]), 1000 * float(said["cpu"]) / count)


def measure(bench: Bench) -> Found:
    count = bench.much(DELIVERIES, QUICK_DELIVERIES)
    rounds = Rounds()
    for number in range(bench.rounds):
        with tempfile.TemporaryDirectory() as name, receiving(Path(name)) as (url, settings, authority):
            folder = Path(name)
            found = {
                OURS: ours(bench, folder, url, settings, count),
                BARE: bare(folder, url, authority, keep_alive=False),
                KEPT: bare(folder, url, authority, keep_alive=True),
                LOOP: bare(folder, url, authority, keep_alive=True, concurrency=1),
            }
        bench.log(f"deliveries {number + 1}: " + ", ".join(f"{who} {one}" for who, one in found.items()))
        for who, sent in found.items():
            rounds.add(who, RATE, sent.rate, f"n = {count}")
            rounds.add(who, CPU, sent.cpu, f"n = {count}")
        for who in (BARE, KEPT, LOOP):
            rounds.add(f"{OURS} : {who}", RATIO, found[OURS].rate / found[who].rate)
    ratio = rounds[OURS, RATE].over(rounds[BARE, RATE])
    goal = Goal(name=f"{OURS} : {BARE}", value=ratio, at_least=GOAL_RATIO)
    return Found(title="webhooks", counted=COUNTED, figures=rounds.figures(), goals=[goal])
