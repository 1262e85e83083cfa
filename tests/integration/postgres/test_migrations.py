"""Migrations: once each, one at a time, never edited, and honest about the former release."""

import threading
from collections.abc import Iterator
from dataclasses import replace

import psycopg
import pytest
from psycopg import sql

from bpc_worker.jobs.errors import Permanent
from bpc_worker.postgres import migrate as migrations
from bpc_worker.postgres.dsn import Dsn
from bpc_worker.postgres.embedded.server import Server
from bpc_worker.postgres.migrate import (
    Applied,
    Ledger,
    Migration,
    known,
    known_functions,
    migrate,
    schema_problem,
)
from bpc_worker.postgres.schema import read_ledger


@pytest.fixture
def empty(server: Server) -> Iterator[str]:
    with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS bpc_empty WITH (FORCE)")
        connection.execute("CREATE DATABASE bpc_empty")
    yield server.url("bpc_empty")
    with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
        connection.execute("DROP DATABASE bpc_empty WITH (FORCE)")


def test_migrating_twice_applies_everything_once(empty: str) -> None:
    first, second = migrate(empty), migrate(empty)

    assert [name for name in first if "/" not in name] == [migration.version for migration in known()]
    assert second == []


def test_two_at_once_give_one_schema(empty: str) -> None:
    applied: list[list[str]] = []
    threads = [threading.Thread(target=lambda: applied.append(migrate(empty))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [len(each) > len(known()) for each in sorted(applied, key=len)] == [False, False, True]
    assert sorted(map(len, applied))[:2] == [0, 0]


def test_everything_belongs_to_the_owner_role(empty: str) -> None:
    migrate(empty)
    with psycopg.connect(empty) as connection:
        owners = connection.execute(
            "SELECT DISTINCT tableowner FROM pg_tables"
            " WHERE schemaname = 'public' AND tablename <> 'schema_migrations'"
        ).fetchall()

    assert owners == [("bpc_owner",)]


def test_a_login_that_is_no_superuser_can_migrate_its_own_database(empty: str) -> None:
    with psycopg.connect(empty, autocommit=True) as connection:
        connection.execute(
            "DO $$ BEGIN CREATE ROLE migrator LOGIN CREATEROLE;"
            " EXCEPTION WHEN duplicate_object THEN NULL; END $$"
        )
        connection.execute("GRANT bpc_owner TO migrator")
        connection.execute(sql.SQL("ALTER DATABASE bpc_empty OWNER TO migrator"))
    as_migrator = empty.replace("//bpc@", "//migrator@")

    assert as_migrator != empty
    assert migrate(as_migrator)


def test_an_edited_migration_is_refused(empty: str, monkeypatch: pytest.MonkeyPatch) -> None:
    migrate(empty)
    edited = [replace(known()[0], text=known()[0].text + "\n-- edited"), *known()[1:]]
    monkeypatch.setattr(migrations, "known", lambda: edited)

    with pytest.raises(Permanent, match="was changed after it had been applied"):
        migrate(empty)


def test_a_failed_migration_leaves_nothing_behind(empty: str, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = Migration(
        "9999_broken", "-- Former release: keeps working.\nCREATE TABLE half (a int); SELECT 1/0;"
    )
    monkeypatch.setattr(migrations, "known", lambda: [*known(), broken])

    with pytest.raises(psycopg.errors.DivisionByZero):
        migrate(empty)
    with psycopg.connect(empty) as connection:
        row = connection.execute("SELECT to_regclass('half'), to_regclass('jobs')").fetchone()
    assert row == (None, "jobs")


def test_every_migration_says_what_becomes_of_the_former_release() -> None:
    for migration in known():
        assert isinstance(migration.former_release_works, bool)
    with pytest.raises(ValueError, match="does not say"):
        _ = Migration("9999_silent", "SELECT 1").former_release_works


def applied(*, extra: Applied | None = None, missing: int = 0) -> list[Applied]:
    rows = [Applied(each.version, each.checksum, each.former_release_works) for each in known()]
    return [*rows[: len(rows) - missing], *([extra] if extra else [])]


def test_which_schemas_a_release_runs_on() -> None:
    functions = frozenset((each.version, each.checksum) for each in known_functions())

    def problem(migrations: list[Applied], had: frozenset[tuple[str, str]] = functions) -> str:
        return str(schema_problem(Ledger(migrations, had), known()))

    assert problem(applied()) == "None"
    assert "bpc-worker migrate" in problem(applied(missing=1))
    assert "bpc-worker migrate" in problem([])
    assert "functions/sweep" in problem(
        applied(), functions - {each for each in functions if "sweep" in each}
    )
    assert problem(applied(), functions | {("sweep", "of a later release")}) == "None"
    assert problem(applied(extra=Applied("9999_next", "x", True))) == "None"
    assert "upgrade bpc-worker" in problem(applied(extra=Applied("9999_next", "x", False)))
    assert "earlier baseline" in problem([Applied("0001_roles", "x", True)])


def test_another_schema_can_be_chosen(empty: str) -> None:
    with psycopg.connect(empty, autocommit=True) as connection:
        connection.execute('CREATE SCHEMA "Our own"')
        migrate(empty, schema="Our own")
        connection.execute("INSERT INTO \"Our own\".tenants (name) VALUES ('acme')")
        found = connection.execute("SELECT \"Our own\".bpc_find_tenant('acme') IS NOT NULL").fetchone()
        in_public = connection.execute(
            "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
        ).fetchone()

    assert (found, in_public) == ((True,), (0,))


def test_nobody_else_can_create_in_the_schema(empty: str) -> None:
    with psycopg.connect(empty, autocommit=True) as connection:
        connection.execute(
            "GRANT CREATE ON SCHEMA public TO PUBLIC"
        )  # as in databases made before PostgreSQL 15
        migrate(empty)
        row = connection.execute("SELECT has_schema_privilege('public', 'public', 'CREATE')").fetchone()

    assert row == (False,)


def test_a_schema_that_stays_open_to_all_is_refused(empty: str) -> None:
    """The login may migrate, but the schema is another's."""
    with psycopg.connect(empty, autocommit=True) as connection:
        connection.execute(
            "DO $$ BEGIN CREATE ROLE guest LOGIN CREATEROLE;"
            " EXCEPTION WHEN duplicate_object THEN NULL; END $$"
        )
        connection.execute("GRANT CREATE ON SCHEMA public TO PUBLIC")
        with pytest.raises(Permanent, match='REVOKE CREATE ON SCHEMA "public" FROM PUBLIC'):
            migrate(empty.replace("//bpc@", "//guest@"))
        row = connection.execute("SELECT to_regclass('jobs')").fetchone()

    assert row == (None,)


@pytest.fixture
def earlier(empty: str) -> str:
    """With the ledger that the migrations before these had."""
    with psycopg.connect(empty, autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE schema_migrations (version text PRIMARY KEY, checksum text NOT NULL,"
            " former_release_works boolean NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())"
        )
        connection.execute(
            "INSERT INTO schema_migrations VALUES ('0001_roles', 'x', true), ('0017_checks', 'y', true)"
        )
    return empty


def test_a_database_of_an_earlier_baseline_is_refused_and_left_alone(earlier: str) -> None:
    with pytest.raises(
        Permanent, match=r"earlier baseline of the schema \(0001_roles to 0017_checks\).*pg_dump"
    ):
        migrate(earlier)
    with psycopg.connect(earlier) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()

    assert tables == [("schema_migrations",)]
    assert migrations.has_drifted(earlier)


def test_a_database_with_passports_of_a_former_core_is_refused_and_left_alone(empty: str) -> None:
    with psycopg.connect(empty, autocommit=True) as connection:
        connection.execute("CREATE TABLE passport_versions (compiler_build_id text)")
        connection.execute("INSERT INTO passport_versions VALUES ('bpc-core-1'), ('bpc-core-1')")
    with pytest.raises(Permanent, match=r"2 passport versions of bpc-core-1, never released.*pg_dump"):
        migrate(empty)
    with psycopg.connect(empty) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()

    assert sorted(tables) == [("passport_versions",), ("schema_migrations",)]


async def test_a_worker_is_told_of_an_earlier_baseline(earlier: str) -> None:
    ledger = await read_ledger(Dsn(url=earlier, application_name="test"))

    assert "earlier baseline" in str(schema_problem(ledger, known()))


async def test_a_worker_reads_what_was_applied(empty: str) -> None:
    dsn = Dsn(url=empty, application_name="test")
    before = await read_ledger(dsn)
    migrate(empty)
    after = await read_ledger(dsn)

    assert before == Ledger([], frozenset())
    assert not migrations.has_drifted(empty)
    assert schema_problem(after, known()) is None
