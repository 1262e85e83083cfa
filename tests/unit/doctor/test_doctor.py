"""Checks that cannot be made to fail where the tests run: clocks, disks, poolers, a server's words."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain, repeat
from typing import cast

import psycopg
import pytest
from psycopg.rows import DictRow

from bpc_worker.config.load import load
from bpc_worker.config.settings import Settings
from bpc_worker.doctor import children, database, limits, machine, queue
from bpc_worker.doctor.catalogue import Thing, differences
from bpc_worker.doctor.findings import Case, Finding, Thresholds, literal, quoted

SECRET_URL = "postgresql://u:secret@h/d"


class Answers:
    """A connection that answers by the first line of the query, which says what it asks."""

    def __init__(self, **rows: DictRow) -> None:
        self._rows = rows

    def execute(self, statement: bytes, _params: object = None) -> "Answers":
        self._found = [
            row for words, row in self._rows.items() if words.replace("_", " ") in statement.decode()
        ]
        return self

    def fetchall(self) -> list[DictRow]:
        return self._found


def case(clock: Callable[[], float] = lambda: 0.0, **rows: DictRow) -> Case:
    connection = cast("psycopg.Connection[DictRow]", Answers(**rows))
    return Case(
        settings=load(env={}),
        registry={},
        url=SECRET_URL,
        connection=connection,
        clock=clock,
        thresholds=Thresholds(),
    )


def ticking(*times: float) -> Callable[[], float]:
    ticks: Iterator[float] = chain(times, repeat(times[-1]))
    return lambda: next(ticks)


@pytest.mark.parametrize(
    ("before", "there", "after", "words"),
    [
        (100.0, 100.5, 101.0, None),
        (100.0, 98.1, 100.2, None),
        (100.0, 130.0, 100.1, "29.9 s ahead of"),
        (100.0, 90.0, 100.1, "10.0 s behind"),
        (100.0, 105.0, 110.0, None),  # a slow answer is no wrong clock
    ],
)
def test_a_clock_that_differs_by_more_than_the_answer_took(
    before: float, there: float, after: float, words: str | None
) -> None:
    found = list(machine.check_clock(case(ticking(before, after), Who_answers={"now": there})))

    assert [finding.check for finding in found] == ([] if words is None else ["clock.differs"])
    assert words is None or words in found[0].what


def test_a_disk_that_is_nearly_full(monkeypatch: pytest.MonkeyPatch) -> None:
    there = {"path": "/data", "same_machine": True}
    full = type(shutil.disk_usage("/"))(100 * 2**30, 95 * 2**30, 5 * 2**30)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: full)
    [finding] = machine.check_disk(case(Where_the_server_keeps=there))
    assert finding.what == "5 % (5.0 GiB) are free where the data is: /data"

    elsewhere = case(Where_the_server_keeps={**there, "same_machine": False})
    assert list(machine.check_disk(elsewhere)) == []


def test_a_folder_that_is_not_to_be_seen_is_no_finding() -> None:
    there = {"path": "/nowhere/at/all", "same_machine": True}

    assert list(machine.check_disk(case(Where_the_server_keeps=there))) == []


def refused(text: str, settings: Settings | None = None) -> Finding:
    return database.unreachable(settings or load(env={}), SECRET_URL, psycopg.OperationalError(text))


@pytest.mark.parametrize(
    ("said", "check", "fix"),
    [
        ('FATAL:  database "d" does not exist', "database.missing", 'CREATE DATABASE "d";'),
        ("FATAL:  password authentication failed for user", "database.password", '\\password "u"'),
        ("FATAL:  sorry, too many clients already", "database.full", "ALTER SYSTEM SET max_connections"),
        (
            "ERROR:  unsupported startup parameter: options",
            "database.pooler",
            "BPC_DB_PREPARED_STATEMENTS=off",
        ),
        ("connection refused", "database.unreachable", "pg_isready --dbname="),
        ("", "database.unreachable", "pg_isready --dbname="),
    ],
)
def test_what_a_server_says_at_the_door_becomes_a_finding(said: str, check: str, fix: str) -> None:
    finding = refused(said)

    assert finding.check == check
    assert fix in finding.fix
    assert "secret" not in f"{finding.what}{finding.why}{finding.fix}"


def test_a_pooler_that_swallows_settings_is_noticed_by_their_absence() -> None:
    settings = {"name": "statement_timeout", "setting": "0"}
    found = database.check(
        case(
            Who_answers={
                "version": "18",
                "version_number": 180000,
                "in_recovery": False,
                "client_port": None,
            },
            The_settings={**settings},
        )
    )

    assert [finding.check for finding in found] == ["database.pooler"]


@pytest.mark.parametrize(
    ("number", "level"), [(130000, ["wrong"]), (140005, ["note"]), (150000, []), (180000, [])]
)
def test_old_servers(number: int, level: list[str]) -> None:
    found = database._version({"version": "x", "version_number": number})

    assert [finding.level for finding in found] == level


def test_a_standby_is_told() -> None:
    [finding] = database._writable({"in_recovery": True})

    assert finding.fix.startswith("SELECT pg_promote();")


def test_connections_are_counted_as_they_are_configured() -> None:
    """Each duty's, and one more for each while the server does not answer."""

    def of(**env: str) -> int:
        return limits.per_worker(replace(case(), settings=load(env=env)))

    plain = {"BPC_NOTIFY_ENABLED": "false"}
    own = 2 * 5 + 1  # claims, settles, renewals, reaper, upkeep; and one that asks
    assert of(**plain) == own + 4 + 1
    assert of(**plain, BPC_DB_HANDLER_CONNECTIONS="2") == own + 2 + 1
    assert of(**plain | {"BPC_NOTIFY_ENABLED": "true"}) == of(**plain) + 2
    assert of(**plain, BPC_SCHEDULES='{"a": {"cron": "* * * * *", "type": "TEST_NOOP"}}') == of(**plain) + 2
    assert of(**plain, BPC_RATE_LIMITS='{"TEST_NOOP": {"per_second": 1, "burst": 1}}') == of(**plain) + 2
    assert of(**plain, BPC_PRODUCER_SCAN_DIR="/srv/inbox") == of(**plain) + 6


@pytest.mark.parametrize(("queues", "said"), [(20, []), (200, ["200 queues and 17 types are 13600 places"])])
def test_a_queue_for_every_customer_is_told(queues: int, said: list[str]) -> None:
    names = ",".join(f"q{number}" for number in range(queues))
    registry = {f"TYPE_{number}": None for number in range(17)}
    wide = replace(case(), settings=load(env={"BPC_WORKER_QUEUES": names}), registry=registry)  # type: ignore[arg-type]  # only counted

    found = list(queue.places(wide))

    assert [each.what.partition(",")[0] for each in found] == said
    assert {each.level for each in found} <= {"note"}


def test_names_and_texts_are_quoted_for_pasting() -> None:
    assert quoted('a"b') == '"a""b"'
    assert literal("it's") == "'it''s'"
    assert literal("a\\b") == " E'a\\\\b'"


def test_what_somebody_added_beside_our_tables_is_nobodys_business() -> None:
    ours = Thing("table", "jobs", "jobs", "table")
    found = [
        ours,
        Thing("trigger", "mine.t", "mine", "x", unmake="DROP TRIGGER t ON mine"),
        Thing("index", "mine", "jobs", "x", unmake="DROP INDEX mine"),
        Thing("column", "jobs.mine", "jobs", "text"),
    ]

    assert list(differences([ours], found)) == []


def test_children_without_a_filter_or_as_root_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    prod = load(env={"BPC_ENV": "prod", "BPC_DATABASE_URL": "postgresql:///d"})
    monkeypatch.setattr("bpc_worker.processes.seccomp.why_not", lambda: "no filter for riscv64")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    found = {finding.check: finding for finding in children.check(prod)}

    assert {name: finding.level for name, finding in found.items()} == {
        "children.unfiltered": "note",
        "children.root": "note",
    }
    assert "riscv64" in found["children.unfiltered"].what


def test_a_system_without_children_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    [finding] = children.check(load(env={}))

    assert (finding.check, finding.level) == ("children.platform", "wrong")
    assert "darwin" in finding.what


def test_an_account_that_is_not_there_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bpc_worker.processes.seccomp.why_not", lambda: None)
    [finding] = children.check(load(env={"BPC_WORKER_CHILD_ACCOUNT": "no-such-account"}))

    assert (finding.check, finding.level) == ("children.account", "wrong")
