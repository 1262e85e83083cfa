"""A database that breaks, and what must hold whatever broke."""

import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from bpc_worker.adapters.postgres_server import Server
from tests.support import database as databases
from tests.support.database import Database
from tests.support.tcp_proxy import TcpProxy
from tests.support.worker import Worker, until

LIVE_WITHIN = 1.0  # seconds for the answer of a probe, whatever else is broken
READY_TURNS_WITHIN = 12.0
WORK_GOES_ON_WITHIN = 30.0


def through(proxy: TcpProxy, url: str) -> str:
    """The same database, over a line that can be broken."""
    parts = urlsplit(url)
    host = f"{parts.username}@127.0.0.1:{proxy.port}"
    return urlunsplit(parts._replace(netloc=host, query="sslmode=disable"))


@contextmanager
def server_of_its_own() -> Iterator[Server]:
    """For tests that stop or break the server as a whole."""
    with databases.postgres() as server:
        databases.make_template(server)
        yield server


def processes(server: Server) -> list[int]:
    """The postmaster and its children."""
    postmaster = server.postmaster_pid()
    assert postmaster is not None
    children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text(encoding="ascii").split()
    return [postmaster, *map(int, children)]


@contextmanager
def frozen(server: Server) -> Iterator[None]:
    """Nothing of the server runs inside the block; the kernel still takes connections for it."""
    [postmaster, *_] = processes(server)
    os.kill(postmaster, signal.SIGSTOP)  # first, so that no child is born behind our back
    stopped = processes(server)
    try:
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        yield
    finally:
        for pid in stopped:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


@dataclass(frozen=True)
class Probe:
    at: float
    live: int
    live_took: float
    ready: int


@dataclass
class Watch:
    """Asks a worker how it is, five times a second."""

    worker: Worker
    probes: list[Probe] = field(default_factory=list)
    _over: threading.Event = field(default_factory=threading.Event)

    def look(self) -> None:
        while not self._over.wait(0.2):
            at = time.monotonic()
            live, _ = self.worker.get("/v1/health/live", timeout=LIVE_WITHIN)
            took = time.monotonic() - at
            ready, _ = self.worker.get("/v1/health/ready", timeout=LIVE_WITHIN)
            self.probes.append(Probe(at, live, took, ready))

    def was_always_live(self) -> bool:
        seen = tuple(self.probes)
        bad = [probe for probe in seen if probe.live != 200 or probe.live_took > LIVE_WITHIN]
        assert len(seen) > 5, "the watch saw next to nothing"
        assert not bad, f"not live: {bad[:5]}"
        return True

    def first_ready(self, status: int, *, after: float) -> float | None:
        """Seconds after a moment until `ready` answered with this status."""
        found = (
            probe.at - after for probe in tuple(self.probes) if probe.at > after and probe.ready == status
        )
        return next(found, None)

    def ready_since(self, after: float, until_: float) -> set[int]:
        return {probe.ready for probe in tuple(self.probes) if after < probe.at < until_}


@contextmanager
def watched(*workers: Worker) -> Iterator[list[Watch]]:
    watches = [Watch(worker) for worker in workers]
    threads = [threading.Thread(target=watch.look, daemon=True) for watch in watches]
    for thread in threads:
        thread.start()
    try:
        yield watches
    finally:
        for watch in watches:
            watch._over.set()
        for thread in threads:
            thread.join(5)


def enqueue_many(db: Database, job_type: str, count: int, *, seconds: float = 0.0) -> list[str]:
    """Like a program that inserts many rows at once; each payload has a key of its own."""
    payload = {
        "TEST_EFFECT": f"jsonb_build_object('key', n::text, 'seconds', {seconds}::float8)",
        "TEST_SLEEP": f"jsonb_build_object('seconds', {seconds}::float8)",
    }.get(job_type, "'{}'::jsonb")
    rows = db.run(
        f"INSERT INTO jobs (tenant_id, type, payload) SELECT %s, %s, {payload}"
        " FROM generate_series(1, %s) AS n RETURNING job_id",
        [db.tenant(), job_type, count],
    )
    return [str(row["job_id"]) for row in rows]


def counts(db: Database) -> dict[str, int]:
    rows = db.run("SELECT status, count(*) AS n FROM jobs GROUP BY status")
    return {str(row["status"]): int(str(row["n"])) for row in rows}


def all_succeed(db: Database, *, within: float) -> None:
    """Every job there is, and nothing else happens to any of them."""

    def ended() -> bool:
        seen = counts(db)
        assert not seen.keys() & {"FAILED", "DEAD_LETTER", "CANCELLED"}, harmed(db)
        return seen.keys() == {"SUCCEEDED"}

    until(ended, within=within, what=f"all jobs succeeded; {harmed(db)}", every=0.1)


def harmed(db: Database) -> str:
    rows = db.run(
        "SELECT job_id, type, status, attempts, snoozes, fail_code, last_error, lease_owner, lease_expires_at"
        " FROM jobs WHERE status <> 'SUCCEEDED' LIMIT 10"
    )
    return "\n".join(str(row) for row in rows)


def effects_once_each(db: Database) -> bool:
    """Every job that should have an effect has exactly one, from its last attempt."""
    wrong = db.run(
        "SELECT jobs.job_id, jobs.attempts, count(test_effects.job_id) AS effects"
        " FROM jobs LEFT JOIN test_effects USING (job_id) WHERE jobs.type = 'TEST_EFFECT'"
        " GROUP BY jobs.job_id HAVING count(test_effects.job_id) <> 1"
    )
    assert not wrong, f"not one effect: {wrong[:5]}"
    stray = db.run("SELECT * FROM test_effects WHERE job_id NOT IN (SELECT job_id FROM jobs)")
    assert not stray
    return True


def at_first_attempt(db: Database, jobs: Sequence[str]) -> bool:
    rows = db.run("SELECT job_id, attempts FROM jobs WHERE job_id = ANY(%s::uuid[])", [list(jobs)])
    later = [row for row in rows if row["attempts"] != 1]
    assert len(rows) == len(jobs)
    assert not later, f"not at attempt 1: {later[:5]}"
    return True
