"""Roles belong to the whole server: who may make them, who finds them made, and several databases at once."""

import os
import threading
from collections.abc import Iterator

import psycopg
import pytest

from bpc_worker.postgres.embedded.server import Server
from bpc_worker.postgres.migrate import migrate
from tests.support import database as databases
from tests.support.other_postgres import OLDER, older_bin_dir

MEMBERSHIPS = (
    "SELECT array_agg(rolname::text ORDER BY rolname) FROM pg_roles"
    " WHERE rolname LIKE 'bpc\\_%%' AND rolname <> 'bpc_web' AND pg_has_role('bpc_web', oid, %s)"
)


@pytest.fixture(params=["newest", "older"])
def fresh(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server on which nothing of ours has ever been."""
    if request.param == "older":
        folder = older_bin_dir()
        if folder is None:
            assert os.environ.get("CI") != "true", f"PostgreSQL {OLDER} could not be had"
            pytest.skip(f"no PostgreSQL {OLDER} here; BPC_TEST_OLDER_PG_BIN names its programs")
        monkeypatch.setenv("BPC_TEST_PG_BIN", str(folder))
    with databases.postgres(databases.NO_FSYNC, in_memory=True) as server:
        yield server


def run(server: Server, *statements: str) -> None:
    with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def memberships(server: Server, kind: str) -> object:
    with psycopg.connect(server.url("postgres")) as connection:
        row = connection.execute(MEMBERSHIPS, [kind]).fetchone()
    assert row is not None
    return row[0]


def check_roles(server: Server) -> None:
    """bpc_web may become three roles, and has nothing of what they have."""
    assert memberships(server, "MEMBER") == ["bpc_app", "bpc_operator", "bpc_reader"]
    assert memberships(server, "USAGE") is None


def test_whoever_may_make_roles_migrates_and_others_find_them_made(fresh: Server) -> None:
    run(
        fresh,
        "CREATE ROLE maker LOGIN CREATEROLE",
        "CREATE DATABASE first OWNER maker",
        "CREATE ROLE plain LOGIN",
        "CREATE DATABASE second OWNER plain",
        "CREATE DATABASE third OWNER plain",
    )
    assert migrate(fresh.url("first", "maker"))
    check_roles(fresh)
    with psycopg.connect(fresh.url("first", "maker"), autocommit=True) as connection:
        made = connection.execute(
            "SELECT token_id FROM bpc_create_token(NULL, 'x', sha256('x'), '{read,write}', 'public',"
            " now() + interval '1 day')"
        )
        assert made.fetchone() is not None, "who owns the schema may give everything"

    run(fresh, "GRANT bpc_owner TO plain")
    assert migrate(fresh.url("second", "plain"))

    with psycopg.connect(fresh.url("first", "maker"), autocommit=True) as connection:
        connection.execute("REVOKE bpc_operator FROM bpc_web")  # what it gave itself
    with pytest.raises(
        psycopg.errors.InsufficientPrivilege, match="has to be a member of bpc_operator"
    ) as refused:
        migrate(fresh.url("third", "plain"))
    hint = refused.value.diag.message_hint or ""
    assert "ALTER ROLE bpc_web NOINHERIT; GRANT bpc_operator TO bpc_web" in hint
    run(fresh, hint.partition(": ")[2])
    assert migrate(fresh.url("third", "plain"))
    check_roles(fresh)


def test_what_an_administrator_let_it_inherit_is_taken_away(fresh: Server) -> None:
    """The migration takes away what a door must not have by itself."""
    run(
        fresh,
        "CREATE DATABASE first",
        "CREATE ROLE bpc_web",
        "CREATE ROLE bpc_app",
        "GRANT bpc_app TO bpc_web",
    )
    migrate(fresh.url("first"))
    check_roles(fresh)


def test_databases_that_are_migrated_at_once_share_one_set_of_roles(fresh: Server) -> None:
    names = [f"number_{n}" for n in range(3)]
    run(fresh, *(f"CREATE DATABASE {name}" for name in names))
    applied: list[list[str]] = []
    threads = [
        threading.Thread(target=lambda name=name: applied.append(migrate(fresh.url(name)))) for name in names
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(applied) == len(names)
    check_roles(fresh)
