"""What is measured of a tree in one round. Each row works with any checkout: see tests.bench.trees."""

import json
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from bpc_worker.postgres.embedded.server import Server
from tests.bench.bench import module, program, settle_down
from tests.bench.bench_passports import folders
from tests.bench.marks import marks
from tests.bench.results import p50, p99
from tests.bench.rows.drain import OURS, fill
from tests.bench.rows.wake import Racer
from tests.bench.trees import Tree, environment
from tests.support.database import Database
from tests.support.rabbitmq import get_broker
from tests.support.worker import until

LONGEST: Final = 300.0
ROLE: Final = "bpc_worker"
WARM_UP: Final = 20
WARM_PASSPORTS: Final = 4
_LATER: Final = (
    "CREATE FUNCTION later() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
    " NEW.scheduled_at := now() + interval '1 day'; RETURN NEW; END $$;"
    " CREATE TRIGGER later BEFORE INSERT ON jobs FOR EACH ROW EXECUTE FUNCTION later()"
)
_DUE: Final = "UPDATE jobs SET scheduled_at = now() WHERE correlation_id = ANY(%s) AND status = 'QUEUED'"
_UNDONE: Final = "SELECT FROM passport_builds WHERE build_id = ANY(%s::uuid[]) AND state <> 'DONE' LIMIT 1"
_SPAN: Final = (
    "SELECT extract(epoch FROM max(finished_at) - min(started_at))::float AS seconds"
    " FROM jobs WHERE correlation_id = ANY(%s)"
)


@dataclass(frozen=True)
class Prepared:
    """A database in which builds wait, to be copied: its name, and their ids."""

    name: str
    builds: list[str]


@dataclass
class Match:
    """One server for both trees, and what is made once."""

    server: Server
    opened: ExitStack
    quick: bool
    _templates: dict[str, str] = field(default_factory=dict)
    _prepared: dict[str, Prepared] = field(default_factory=dict)
    _broker: str | None = None

    def much(self, full: int, quick: int) -> int:
        return quick if self.quick else full

    @property
    def broker(self) -> str:
        if self._broker is None:
            found = get_broker()
            self.opened.callback(found.close)
            self._broker = found.url
        return self._broker

    @contextmanager
    def database(self, tree: Tree) -> Iterator[Database]:
        """Fresh, with the tree's own schema."""
        if tree.name not in self._templates:
            made = self.opened.enter_context(tree.database(self.server))
            self._templates[tree.name] = _name(made)
        with tree.database(self.server, self._templates[tree.name]) as db:
            yield db

    def waiting_builds(self, tree: Tree) -> Prepared:
        if tree.name not in self._prepared:
            db = self.opened.enter_context(self.database(tree))
            builds = _queue_builds(tree, db, self.much(60, 12) + WARM_PASSPORTS)
            self._prepared[tree.name] = Prepared(_name(db), builds)
        return self._prepared[tree.name]


def _name(db: Database) -> str:
    return db.url.partition("?")[0].rpartition("/")[2]


Measure = Callable[[Match, Tree], Mapping[str, float]]


def drain(slots: int) -> Measure:
    def measure(match: Match, tree: Tree) -> Mapping[str, float]:
        count = match.much(20_000, 4_000)
        with match.database(tree) as db:
            fill(db, count)
            settle_down(db)
            with tree.worker(db.url_as(ROLE), BPC_WORKER_CONCURRENCY=slots):
                until(
                    lambda: not db.one(OURS.left)["left"], within=LONGEST, what="an empty queue", every=0.25
                )
            found = db.one(OURS.span)
        assert found["done"] == count, f"{tree.name}: {found['done']} of {count} jobs are done"
        return {f"drain, {slots} slots": count / float(str(found["seconds"]))}

    return measure


def wake(*, amqp: bool) -> Measure:
    def measure(match: Match, tree: Tree) -> Mapping[str, float]:
        broker = match.broker if amqp else None
        settings = {"BPC_NOTIFY_ENABLED": not amqp} | ({"BPC_QUEUE_URL": broker} if broker else {})
        with match.database(tree) as db, marks() as heard:
            url, more = db.url_as(ROLE), {"tenant": db.tenant(), "pipe": str(heard.path), "broker": broker}
            with tree.worker(url, **settings) as running:
                running.wait_ready()
                if amqp:
                    until(lambda: running.metric("bpc_broker_connected") == 1, within=30, what="listening")
                with program(module("against_producer"), do="produce", url=url, **more) as producer:
                    producer.hear()
                    samples = _samples(Racer(producer, heard), match.much(400, 100))
        name = f"wake, {'AMQP' if amqp else 'NOTIFY'}"
        return {f"{name}, p50": p50(samples), f"{name}, p99": p99(samples)}

    return measure


def _samples(racer: Racer, count: int) -> list[float]:
    racer.run(WARM_UP)
    racer.samples.clear()
    racer.run(count)
    return racer.samples


def enqueue(how: str, full: int, quick: int) -> Measure:
    """By the tree's own API, which its own bench knows how to call."""

    def measure(match: Match, tree: Tree) -> Mapping[str, float]:
        count = match.much(full, quick)
        with match.database(tree) as db:
            url, tenant = db.url_as(ROLE), db.tenant()
            settle_down(db)
            asked = {"do": "enqueue", "url": url, "tenant": tenant, "how": how, "count": count}
            done = subprocess.run(
                [str(tree.python), "-m", "tests.bench.ours", json.dumps(asked)],
                cwd=tree.path, env=environment(url, {}), stdout=subprocess.PIPE, timeout=LONGEST, check=True,
            )  # fmt: skip
        return {f"enqueue, {how}": count / float(json.loads(done.stdout)["seconds"])}

    return measure


def passports(match: Match, tree: Tree) -> Mapping[str, float]:
    """Documents to code, from the first claim to the last end; children and caches are warm."""
    prepared = match.waiting_builds(tree)
    warm, rest = prepared.builds[:WARM_PASSPORTS], prepared.builds[WARM_PASSPORTS:]
    with tree.database(match.server, prepared.name) as db:
        settle_down(db)
        with tree.worker(db.url_as(ROLE), BPC_LOG_LEVEL="warning"):
            for builds in (warm, rest):
                db.run(_DUE, [builds])
                until(lambda: not db.run(_UNDONE, [builds]), within=LONGEST, what="all builds", every=0.1)  # noqa: B023
        found = db.one(_SPAN, [rest])
    return {"passports": len(rest) / float(str(found["seconds"]))}


def _queue_builds(tree: Tree, db: Database, count: int) -> list[str]:
    url, of_acme = db.url_as("bpc_app"), ("--tenant", "acme")
    tree.command(url, "tenant", "add", "acme")
    tree.command(url, "keys", "add", *of_acme)
    tree.command(url, "rules", "add", "battery_core", "battery_core", *of_acme)
    with tree.worker(db.url_as(ROLE)):
        tree.command(url, "rules", "run-tests", "battery_core", "--wait", *of_acme)
    tree.command(url, "rules", "publish", "battery_core", *of_acme)
    db.run(_LATER)
    with tempfile.TemporaryDirectory() as root, ThreadPoolExecutor(2) as several:
        build = ("passport", "build", "--no-wait", *of_acme)
        given = folders(Path(root), count, "P")
        ids = [out.strip() for out in several.map(lambda each: tree.command(url, *build, str(each)), given)]
    db.run("DROP TRIGGER later ON jobs")
    return ids


MEASURES: Final[dict[str, Measure]] = {
    "drain10": drain(10),
    "drain100": drain(100),
    "notify": wake(amqp=False),
    "amqp": wake(amqp=True),
    "single": enqueue("single", 2_000, 500),
    "bulk": enqueue("bulk", 30_000, 5_000),
    "passports": passports,
}
