"""A database that breaks, and what must hold whatever broke."""

import os
import signal
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

from bpc_worker.postgres.embedded.server import Server
from tests.support import database as databases
from tests.support.database import Database
from tests.support.reloads import reloaded
from tests.support.tcp_proxy import TcpProxy
from tests.support.worker import Worker, until, worker

LIVE_WITHIN = 1.0  # seconds for the answer of a probe, whatever else is broken
RED_WITHIN = 12.0
WORK_GOES_ON_WITHIN = 30.0

Settings = Mapping[str, object]


def lease(seconds: float, renew: float, *, reap: float = 1) -> Settings:
    return {
        "BPC_JOBS_LEASE_SECONDS": seconds,
        "BPC_JOBS_LEASE_RENEW_SECONDS": renew,
        "BPC_REAPER_INTERVAL_SECONDS": reap,
    }


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


def start(server: Server) -> None:
    server.start({"max_connections": "200"})


def restart(server: Server, *, down_for: float) -> None:
    """As after a power cut: nobody is asked, and the log is replayed."""
    server.stop("immediate")
    time.sleep(down_for)
    start(server)


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
    with stopped([postmaster]), stopped(processes(server)[1:]):  # no child is born behind our back
        yield


@contextmanager
def stopped(pids: Sequence[int]) -> Iterator[None]:
    try:
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
        yield
    finally:
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


@contextmanager
def read_only(server: Server) -> Iterator[None]:
    """Like a primary that was demoted: it answers, but takes no writes. Whatever began before that may."""
    try:
        _set_read_only(server, "on")
        yield
    finally:
        _set_read_only(server, "off")


@contextmanager
def standby_gone(server: Server) -> Iterator[None]:
    """Every commit waits for a standby that is not there, whatever happens to its client."""
    with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
        try:
            connection.execute("ALTER SYSTEM SET synchronous_standby_names = 'ghost'")
            connection.execute("SELECT pg_reload_conf()")
            with psycopg.connect(server.url("postgres"), autocommit=True) as probe:
                until(lambda: _commit_waits(connection, probe), within=20, what="a commit that waits")
                probe.pgconn.finish()
            yield
        finally:
            connection.execute("ALTER SYSTEM RESET synchronous_standby_names")
            connection.execute("SELECT pg_reload_conf()")


def _commit_waits(
    connection: psycopg.Connection[tuple[object, ...]], probe: psycopg.Connection[tuple[object, ...]]
) -> bool:
    """A server heeds its new settings when it comes to it."""
    probe.pgconn.send_query(b"SELECT pg_logical_emit_message(true, '', '')")
    while probe.pgconn.is_busy():
        row = connection.execute(
            "SELECT wait_event = 'SyncRep' FROM pg_stat_activity WHERE pid = %s", [probe.info.backend_pid]
        ).fetchone()
        if row == (True,):
            return True
        probe.pgconn.consume_input()
    while probe.pgconn.get_result() is not None:
        pass
    return False


def _set_read_only(server: Server, value: str) -> None:
    with reloaded(server), psycopg.connect(server.url("postgres"), autocommit=True) as connection:
        connection.execute("SET default_transaction_read_only = off")
        connection.execute(
            sql.SQL("ALTER SYSTEM SET default_transaction_read_only = {}").format(sql.Literal(value))
        )
        connection.execute("SELECT pg_reload_conf()")


def sessions(db: Database, last_said: str) -> list[int]:
    """The server processes that talk to a worker and were last asked something like this."""
    rows = db.run(
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
        " AND application_name LIKE 'bpc-worker%%' AND strpos(query, %s) > 0",
        [last_said],
    )
    assert rows, f"no session was asked {last_said!r}"
    return [int(str(row["pid"])) for row in rows]


def terminate_workers(db: Database) -> int:
    """Every session that any worker has at this moment; how many there were."""
    rows = db.run(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND application_name LIKE 'bpc-worker%'"
    )
    return len(rows)


@contextmanager
def locked(db: Database, jobs: Sequence[str]) -> Iterator[None]:
    """Another session holds the rows of these running jobs."""
    with db.connect() as holder, holder.transaction():
        rows = holder.execute(
            "SELECT status FROM jobs WHERE job_id = ANY (%s::uuid[]) FOR UPDATE", [list(jobs)]
        ).fetchall()
        assert [row["status"] for row in rows] == ["RUNNING"] * len(jobs)
        yield


@contextmanager
def renamed(db: Database, column: str) -> Iterator[None]:
    """A column that our statements name is not there."""
    was, away = sql.Identifier(column), sql.Identifier(f"{column}_renamed")
    rename = sql.SQL("ALTER TABLE jobs RENAME {} TO {}")
    with db.connect() as connection:
        connection.execute(rename.format(was, away))
        try:
            yield
        finally:
            connection.execute(rename.format(away, was))


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
    over: threading.Event = field(default_factory=threading.Event)

    def look(self) -> None:
        until(lambda: self.over.is_set() or self.worker.said("started"), within=30)
        while not self.over.wait(0.2):
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
        seen = (
            probe.at - after for probe in tuple(self.probes) if probe.at > after and probe.ready == status
        )
        return next(seen, None)

    def turns(self, status: int, *, after: float, within: float) -> float:
        """Wait for that answer; the same seconds."""
        until(
            lambda: self.first_ready(status, after=after) is not None, within=within, what=f"ready {status}"
        )
        seconds = self.first_ready(status, after=after)
        assert seconds is not None
        return seconds

    def ready_between(self, after: float, before: float) -> set[int]:
        return {probe.ready for probe in tuple(self.probes) if after < probe.at < before}


@contextmanager
def watched(*workers: Worker) -> Iterator[list[Watch]]:
    watches = [Watch(running) for running in workers]
    threads = [threading.Thread(target=watch.look, daemon=True) for watch in watches]
    for thread in threads:
        thread.start()
    try:
        yield watches
    finally:
        for watch in watches:
            watch.over.set()
        for thread in threads:
            thread.join(5)


@dataclass(frozen=True)
class Outage:
    """Two workers while their database breaks."""

    db: Database
    watches: list[Watch]
    began_at: float

    def turns_red(self) -> float:
        """Wait until neither worker is ready; how long the slower one took."""
        return self._turned_red(after=self.began_at)

    def stays_red(self, seconds: float) -> None:
        """What is wrong since now turns both workers red, and nothing turns them green again."""
        since = time.monotonic()
        turned = self._turned_red(after=since)
        print(f"ready 503 after {turned:.1f} s")
        time.sleep(max(0.0, since + seconds - time.monotonic()))
        green = [watch.first_ready(200, after=since + turned) for watch in self.watches]
        assert green == [None, None]

    def _turned_red(self, *, after: float) -> float:
        slowest = max(watch.turns(503, after=after, within=RED_WITHIN + 10) for watch in self.watches)
        assert slowest <= RED_WITHIN
        return slowest

    def lasts(self, seconds: float) -> None:
        time.sleep(max(0.0, self.began_at + seconds - time.monotonic()))

    def work_goes_on(self, repaired_at: float) -> float:
        """A job queued now is done, and both are ready, in time; how long after the repair that was."""
        fresh = self.db.enqueue("TEST_EFFECT", '{"key": "fresh"}', priority=0)
        until(lambda: self.db.job(fresh)["status"] == "SUCCEEDED", within=WORK_GOES_ON_WITHIN)
        took = time.monotonic() - repaired_at
        assert took <= WORK_GOES_ON_WITHIN
        for watch in self.watches:
            assert watch.turns(200, after=repaired_at, within=60) <= WORK_GOES_ON_WITHIN
        return took


@contextmanager
def survived(
    db: Database, settings: Settings, *, spanning: float, flow: int = 20, left_behind: Sequence[str] = ()
) -> Iterator[Outage]:
    """The block breaks and repairs a database that two workers use; what must hold is checked after it.

    Some jobs would end inside the outage, some after it (`spanning` seconds), and many are about to be
    claimed, run and settled at the moment when it begins. No attempt is lost to an outage, but for jobs that
    somebody else has left behind in it.
    """
    with worker(db.url, **settings) as one, worker(db.url, **settings) as two:
        one.wait_ready()
        two.wait_ready()
        pids = (one.pid, two.pid)
        for kind in ("TEST_SLEEP", "TEST_EFFECT"):
            enqueue_many(db, kind, 2, seconds=spanning)
            enqueue_many(db, kind, 2, seconds=min(2.0, spanning / 2))
        until(lambda: counts(db).get("RUNNING", 0) >= 8, within=20)
        enqueue_mixture(db, flow)
        with watched(one, two) as watches:
            outage = Outage(db, watches, began_at=time.monotonic())
            yield outage
            took = outage.work_goes_on(time.monotonic())
            all_succeed(db, within=60 + 4 * spanning)
            print(f"work went on {took:.1f} s after the repair, all was done after", end=" ")
            print(f"{time.monotonic() - outage.began_at:.0f} s; {summary(db)}")
            for watch in watches:
                assert watch.was_always_live()

        assert (one.pid, two.pid) == pids
        assert one.exit_code is two.exit_code is None
        assert one.stop() == two.stop() == 0
    jobs = [str(row["job_id"]) for row in db.run("SELECT job_id FROM jobs")]
    assert at_first_attempt(db, [job_id for job_id in jobs if job_id not in left_behind])
    assert effects_once_each(db)
    db.check_history()


def enqueue_mixture(db: Database, each: int) -> None:
    """Jobs that end one after the other, so that something is on its way at any moment for a while."""
    enqueue_many(db, "TEST_EFFECT", each, step=0.1)
    for kind in ("TEST_READ", "TEST_NOOP"):
        enqueue_many(db, kind, each)


def enqueue_many(
    db: Database, job_type: str, count: int, *, seconds: float = 0.0, step: float = 0.0
) -> list[str]:
    """Like a program that inserts many rows at once; each has a key of its own and takes `step` longer."""
    takes = f"({seconds} + (n - 1) * {step})::float8"
    payload = {
        "TEST_EFFECT": f"jsonb_build_object('key', n::text, 'seconds', {takes})",
        "TEST_SLEEP": f"jsonb_build_object('seconds', {takes})",
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


def succeeded(db: Database, jobs: Sequence[str]) -> bool:
    statement = "SELECT count(*) AS n FROM jobs WHERE job_id = ANY (%s::uuid[]) AND status = 'SUCCEEDED'"
    return db.one(statement, [list(jobs)])["n"] == len(jobs)


def all_succeed(db: Database, *, within: float) -> None:
    """Every job there is, and nothing else becomes of any of them."""

    def ended() -> bool:
        seen = counts(db)
        assert not seen.keys() & {"FAILED", "DEAD_LETTER", "CANCELLED"}, unfinished(db)
        return seen.keys() == {"SUCCEEDED"}

    try:
        until(ended, within=within, every=0.1)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{unfinished(db)}") from error


def unfinished(db: Database) -> str:
    rows = db.run(
        "SELECT job_id, type, status, attempts, snoozes, fail_code, last_error, lease_owner, lease_expires_at"
        " FROM jobs WHERE status <> 'SUCCEEDED' LIMIT 10"
    )
    return "\n".join(str(row) for row in rows)


def summary(db: Database) -> str:
    attempts = db.run("SELECT attempts, count(*) AS n FROM jobs GROUP BY attempts ORDER BY attempts")
    events = db.run("SELECT type, count(*) AS n FROM job_events GROUP BY type ORDER BY type")
    tried = ", ".join(f"{row['n']} jobs at attempt {row['attempts']}" for row in attempts)
    return f"{tried}; events: " + (", ".join(f"{row['type']} {row['n']}" for row in events) or "none")


def effects_once_each(db: Database) -> bool:
    """Every job that should have an effect has exactly one."""
    wrong = db.run(
        "SELECT jobs.job_id, jobs.attempts, count(test_effects.job_id) AS effects"
        " FROM jobs LEFT JOIN test_effects USING (job_id) WHERE jobs.type = 'TEST_EFFECT'"
        " GROUP BY jobs.job_id HAVING count(test_effects.job_id) <> 1"
    )
    assert not wrong, f"not one effect: {wrong[:5]}"
    return True


def counted_once_each(running: Worker, jobs: int) -> bool:
    """The worker itself knows of every success, and of no lease that it has lost."""
    until(lambda: running.metric("bpc_jobs_completed_total", status="SUCCEEDED") >= jobs, within=5)
    assert running.metric("bpc_jobs_completed_total", status="SUCCEEDED") == jobs
    assert running.metric("bpc_leases_lost_total") == 0
    return True


def at_first_attempt(db: Database, jobs: Sequence[str]) -> bool:
    rows = db.run("SELECT job_id, attempts FROM jobs WHERE job_id = ANY (%s::uuid[])", [list(jobs)])
    later = [row for row in rows if row["attempts"] != 1]
    assert len(rows) == len(jobs)
    assert not later, f"not at attempt 1: {later[:5]}"
    return True
