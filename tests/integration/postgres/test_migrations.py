"""Migrations: once each, one at a time, never edited, and honest about the former release."""

import threading
from collections.abc import Iterator
from dataclasses import replace

import psycopg
import pytest
from psycopg import sql

from bpc_worker.jobs.errors import Permanent
from bpc_worker.postgres import migrate as migrations
from bpc_worker.postgres.embedded.server import Server
from bpc_worker.postgres.migrate import Applied, Migration, known, migrate, schema_problem


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

    assert first == [migration.version for migration in known()]
    assert second == []


def test_two_at_once_give_one_schema(empty: str) -> None:
    applied: list[list[str]] = []
    threads = [threading.Thread(target=lambda: applied.append(migrate(empty))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(map(len, applied)) == [0, 0, len(known())]


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
    assert schema_problem(applied(), known()) is None
    assert "bpc-worker migrate" in str(schema_problem(applied(missing=1), known()))
    assert "bpc-worker migrate" in str(schema_problem([], known()))
    assert schema_problem(applied(extra=Applied("9999_next", "x", True)), known()) is None
    assert "upgrade bpc-worker" in str(
        schema_problem(applied(extra=Applied("9999_next", "x", False)), known())
    )
