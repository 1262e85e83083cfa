"""A producer killed at every step of a file's way, and ten thousand files: each once, none left behind."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from bpc_worker.postgres.sql_files import query
from tests.support.database import Database
from tests.support.inbox import PRODUCER, TestInbox
from tests.support.outages import through
from tests.support.pipeline import EXAMPLE, pipeline
from tests.support.tcp_proxy import Kill, TcpProxy
from tests.support.worker import SITE, until, worker

KILLING = Path(__file__).parents[1] / "support/killing"


def _document(inbox: TestInbox, serial: int) -> str:
    inbox.put("acme/BOM/bom.csv", b"%d" % serial)
    return "done/acme/BOM/bom.csv"


def _large(inbox: TestInbox, serial: int) -> str:
    inbox.put("acme/BOM/large.csv", b"%d" % serial + b"x" * 1_100_000)
    return "done/acme/BOM/large.csv"


def _misplaced(inbox: TestInbox, _serial: int) -> str:
    inbox.put("acme/bom.csv")
    return "rejected/acme/bom.csv"


def _build(inbox: TestInbox, serial: int) -> str:
    folder = inbox.root / "acme/battery"
    shutil.copytree(EXAMPLE, folder)
    recipe = folder / "passport.yaml"
    recipe.write_text(recipe.read_text().replace("000417", f"{serial:06}"))
    return "done/acme/battery/passport.yaml"


# What is put there, the jobs that it must become, and how many steps there are at least.
WAYS = [(_document, 1, 6), (_large, 1, 8), (_misplaced, 0, 6), (_build, 3, 8)]


@pytest.mark.parametrize(("put", "jobs", "least"), WAYS)
def test_a_producer_killed_before_every_change_of_the_file_system(
    db: Database, tmp_path: Path, put: Callable[[TestInbox, int], str], jobs: int, least: int
) -> None:
    pipeline(db)
    step, killed = 0, True
    while killed:
        step += 1
        inbox = TestInbox(tmp_path / str(step), db)
        place = put(inbox, step)
        killed = _killed_at(step, inbox, place)
        with worker(db.url_as("bpc_app"), *PRODUCER, **inbox.settings, BPC_INGEST_FOLDERS=inbox.root):
            inbox.wait_for(place)
            until(lambda: inbox.waiting() == set(), within=10)  # noqa: B023 - asked at once
        folder, _, _ = place.partition("/")
        errors = {each for each in inbox.files(folder) if each.endswith(".error.json")}
        assert len(errors) == (folder == "rejected")
        assert len(inbox.jobs()) == jobs * step, f"step {step}"
    assert step > least


def _killed_at(step: int, inbox: TestInbox, place: str) -> bool:
    """Whether there was such a step."""
    fatal = {
        "PYTHONPATH": f"{KILLING}:{SITE}",
        "INBOX_KILL_ROOT": inbox.root,
        "INBOX_KILL_AT": step,
        "BPC_INGEST_FOLDERS": inbox.root,
    }
    with worker(inbox.db.url_as("bpc_app"), *PRODUCER, **inbox.settings, **fatal) as victim:

        def ended() -> bool:
            return victim.exit_code is not None or ((inbox.root / place).exists() and not inbox.waiting())

        until(ended, within=30, what=f"step {step}")
        if victim.exit_code is None:
            victim.stop(within=10)
        return victim.exit_code == -9


# Where the file lies when the statement is sent.
STATEMENTS = [("tenants/find", "acme/BOM/bom.csv"), ("jobs/enqueue", ".taking/acme/BOM/bom.csv")]


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize(("statement", "lies"), STATEMENTS)
def test_a_producer_killed_around_its_statements(
    db: Database, tmp_path: Path, statement: str, lies: str, moment: str
) -> None:
    """After the enqueue: its row is committed, and nobody was told."""
    db.tenant()
    inbox = TestInbox(tmp_path, db)
    inbox.put("acme/BOM/bom.csv")
    with TcpProxy("127.0.0.1", db.server.port) as proxy:
        proxy.pause()
        url = through(proxy, db.url_as("bpc_producer"))
        with worker(url, *PRODUCER, **inbox.settings) as victim:
            begins = query(statement).splitlines()[0].upper()
            kill = Kill(pid=victim.pid, moment=moment, nth=1, begins=begins, alone=True)
            proxy.kill_client(kill)
            proxy.resume()
            until(lambda: victim.exit_code is not None, within=60)
            assert (kill.struck, victim.exit_code) == (True, -9)
    assert inbox.waiting() == {lies}
    assert len(inbox.jobs()) == (moment == "after" and statement == "jobs/enqueue")
    with worker(db.url_as("bpc_producer"), *PRODUCER, **inbox.settings):
        inbox.wait_for("done/acme/BOM/bom.csv")
    assert len(inbox.jobs()) == 1


@pytest.mark.parametrize("moment", ["before", "in", "after"])
def test_a_producer_killed_around_the_transaction_of_a_build(
    db: Database, tmp_path: Path, moment: str
) -> None:
    pipeline(db)
    inbox = TestInbox(tmp_path, db)
    place = _build(inbox, 1)
    with TcpProxy("127.0.0.1", db.server.port) as proxy:
        proxy.pause()
        with worker(through(proxy, db.url_as("bpc_app")), *PRODUCER, **inbox.settings) as victim:
            kill = Kill(
                pid=victim.pid,
                moment=moment,
                nth=1,
                begins=b"BEGIN TRANSACTION ISOLATION LEVEL READ COMMITTED",
                inside=query("jobs/enqueue").splitlines()[0],
            )
            proxy.kill_client(kill)
            proxy.resume()
            until(lambda: victim.exit_code is not None, within=60)
            assert (kill.struck, victim.exit_code) == (True, -9)
    assert len(inbox.jobs()) == (3 if moment == "after" else 0)
    with worker(db.url_as("bpc_app"), *PRODUCER, **inbox.settings):
        inbox.wait_for(place)
    assert len(inbox.jobs()) == 3
    assert db.one("SELECT count(*) AS n FROM passport_builds")["n"] == 1


def test_where_locks_lie_the_key_still_makes_one_job_of_each_file(db: Database, tmp_path: Path) -> None:
    """The lock file vanishes all the time, so three producers work on the folder at once."""
    count = 600
    db.tenant()
    inbox = TestInbox(tmp_path, db)
    for number in range(count):
        inbox.put(f"acme/BOM/{number}.csv", b"%d" % number)
    url, busy = db.url_as("bpc_producer"), "inbox_held"

    def unlocked() -> int:
        (inbox.root / ".lock").unlink(missing_ok=True)
        return len(inbox.files("done"))

    with (
        worker(url, *PRODUCER, **inbox.settings) as one,
        worker(url, *PRODUCER, **inbox.settings) as two,
        worker(url, *PRODUCER, **inbox.settings) as three,
    ):
        until(lambda: unlocked() == count, within=120)
        assert [bool(each.said(busy)) for each in (one, two, three)].count(True) > 1
    assert inbox.files("done") == {f"acme/BOM/{number}.csv" for number in range(count)}
    assert inbox.waiting() == set()
    assert len(inbox.jobs()) == count


def test_a_database_that_goes_away_and_comes_back_costs_nothing_but_time(
    db: Database, tmp_path: Path
) -> None:
    db.tenant()
    inbox = TestInbox(tmp_path, db)
    with (
        TcpProxy("127.0.0.1", db.server.port) as proxy,
        worker(through(proxy, db.url_as("bpc_producer")), *PRODUCER, **inbox.settings) as producer,
    ):
        inbox.put("acme/BOM/first.csv", b"first")
        inbox.wait_for("done/acme/BOM/first.csv")
        proxy.refuse(True)
        proxy.sever()
        for number in range(20):
            inbox.put(f"acme/BOM/{number}.csv", b"%d" % number)
        until(lambda: producer.said("inbox_trouble"), within=30)
        until(lambda: producer.get("/v1/health/ready")[0] == 503, within=30)
        assert len(inbox.files(".taking")) <= 1
        proxy.refuse(False)
        until(lambda: len(inbox.files("done")) == 21, within=60)
        until(lambda: producer.get("/v1/health/ready")[0] == 200, within=30)
    assert len(inbox.jobs()) == 21


def test_ten_thousand_files_and_two_producers_that_are_killed(db: Database, tmp_path: Path) -> None:
    """While files arrive, one producer after the other is killed; two are there at any time."""
    count = 10_000
    db.tenant()
    inbox = TestInbox(tmp_path, db)
    url = db.url_as("bpc_producer")
    for number in range(count // 2):
        inbox.put(f"acme/BOM/{number}.csv", b"%d" % number)
    running = [worker(url, *PRODUCER, **inbox.settings) for _ in range(2)]
    workers = [each.__enter__() for each in running]
    try:
        for number in range(count // 2, count):
            inbox.put(f"acme/BOM/{number}.csv", b"%d" % number)
            if number % 500 == 0:
                seen = len(inbox.files("done"))
                until(lambda: len(inbox.files("done")) > seen, within=60)  # noqa: B023 - asked at once
                victim = workers.pop(0)
                victim.end()
                running.append(worker(url, *PRODUCER, **inbox.settings))
                workers.append(running[-1].__enter__())
        until(lambda: len(inbox.files("done")) >= count, within=300, every=0.5)
    finally:
        for each in running:
            each.__exit__(None, None, None)
    assert inbox.waiting() == set()
    assert inbox.files("rejected") == set()
    assert inbox.files("done") == {f"acme/BOM/{number}.csv" for number in range(count)}
    found = db.one("SELECT count(*) AS n, count(DISTINCT payload->>'content_sha256') AS contents FROM jobs")
    assert (found["n"], found["contents"]) == (count, count)
