"""What the public door can read: what was cut for everybody, of versions that were in force once."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from psycopg import errors

from bpc_worker.core.base.audience import PUBLIC
from bpc_worker.core.passport.view import cut
from bpc_worker.core.passport.view_check import verify_view
from bpc_worker.domain.stored import StoredVersion
from bpc_worker.pipeline.lives import end_life
from bpc_worker.pipeline.passports import activate, revoke
from bpc_worker.pipeline.publishing import refill
from bpc_worker.pipeline.stored import read_version
from bpc_worker.postgres.embedded.server import Server
from tests.support.database import Database
from tests.support.signed import Signed, clone, signed_passport

READABLE = {
    "public_hosts", "public_keys", "public_models", "public_passports", "public_attachments",
    "public_contents",
}  # fmt: skip
OF_LISTS = {"status_list", "issuer", "token", "token_as_of"}


@pytest.fixture(scope="module")
def original(server: Server) -> Iterator[Signed]:
    with signed_passport(server) as made:
        yield made


@pytest.fixture
def signed(original: Signed) -> Iterator[Signed]:
    with clone(original) as copy:
        yield copy


@contextmanager
def door(db: Database) -> Iterator[psycopg.Connection[dict[str, object]]]:
    with psycopg.connect(db.url_as("bpc_public"), row_factory=psycopg.rows.dict_row) as connection:
        yield connection


def seen(db: Database, statement: str = "SELECT * FROM public_passports") -> list[dict[str, object]]:
    with door(db) as connection:
        return connection.execute(statement.encode()).fetchall()


def stored(signed: Signed) -> StoredVersion:
    return signed.path.call(lambda pipeline: read_version(pipeline, str(signed.version)))


def in_force(signed: Signed) -> None:
    signed.path.call(lambda pipeline: activate(pipeline, str(signed.version)))


def test_the_role_reads_nothing_but_its_tables(signed: Signed) -> None:
    """Over the whole catalogue: every table and view, every column, whoever owns it."""
    in_force(signed)
    relations = signed.db.run(
        "SELECT c.oid::regclass::text AS name, array_agg(a.attname::text) AS columns"
        " FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped"
        " WHERE c.relkind IN ('r', 'v', 'm', 'p', 'f') AND c.relnamespace = 'public'::regnamespace"
        " GROUP BY c.oid"
    )
    assert {row["name"] for row in relations} > READABLE
    with door(signed.db) as connection:
        for row in relations:
            for column in row["columns"]:  # type: ignore[attr-defined]
                name = str(row["name"])
                may = name in READABLE or (name == "status_lists" and column in OF_LISTS)
                statement = f"SELECT {column} FROM {name} LIMIT 1"
                if may:
                    connection.execute(statement.encode())
                    continue
                with pytest.raises(errors.InsufficientPrivilege), connection.transaction():
                    connection.execute(statement.encode())


def test_the_role_writes_nothing_and_calls_none_of_our_functions(signed: Signed) -> None:
    writes = signed.db.run(
        "SELECT c.oid::regclass::text AS name FROM pg_class c"
        " WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'v', 'p', 'S') AND"
        " has_table_privilege('bpc_public', c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')"
    )
    calls = signed.db.run(
        "SELECT proname FROM pg_proc WHERE pg_get_userbyid(proowner) = 'bpc_owner'"
        " AND has_function_privilege('bpc_public', oid, 'EXECUTE')"
    )

    assert writes == []
    assert [row["proname"] for row in calls] == ["bpc_tenant"]


def test_a_version_is_there_from_its_first_day_in_force_on(signed: Signed) -> None:
    assert seen(signed.db) == []
    assert len(signed.db.run("SELECT FROM public_passports")) == 1

    in_force(signed)

    [row] = seen(signed.db)
    version = stored(signed)
    assert row["view"] == cut(version.view(), PUBLIC)
    assert (row["status"], row["unique_identifier"]) == ("ACTIVE", version.row.unique_identifier)
    assert seen(signed.db, "SELECT host FROM public_hosts") == [{"host": row["host"]}]
    verify_view(str(row["view"]), version.registry, audience=PUBLIC)


def test_who_names_a_tenant_sees_no_more(signed: Signed) -> None:
    with door(signed.db) as connection:
        connection.execute("SELECT set_config('bpc.tenant_id', %s, false)", [signed.db.tenant()])
        assert connection.execute("SELECT FROM public_passports").fetchall() == []
        assert connection.execute("SELECT FROM public_attachments").fetchall() == []


def test_a_view_with_more_or_less_than_the_public_may_see_is_refused(signed: Signed) -> None:
    whole = stored(signed).view()
    ours = cut(whole, PUBLIC)
    parts = ours.split("~")
    other = ours.replace(parts[0].split(".")[2], "A" * 86)
    for text in (
        whole,
        cut(whole, "authorities"),
        "~".join(parts[:-2]) + "~",
        ours + parts[-2] + "~",
        ours[:-1],
        other,
    ):
        with signed.db.connect() as connection:
            connection.execute("SELECT set_config('bpc.tenant_id', %s, false)", [signed.db.tenant()])
            with pytest.raises(errors.RestrictViolation):
                connection.execute("SELECT bpc_publish(%s, %s, NULL, NULL)", [signed.version, text])


def test_nobody_publishes_for_another_tenant(signed: Signed) -> None:
    text = cut(stored(signed).view(), PUBLIC)
    with signed.db.connect() as connection:
        connection.execute("SELECT set_config('bpc.tenant_id', %s, false)", [signed.db.tenant("other")])
        done = connection.execute(
            "SELECT bpc_publish(%s, %s, NULL, NULL) AS done", [signed.version, text]
        ).fetchall()

    assert done == [{"done": False}]


def test_who_keeps_answers_is_told_of_every_change(signed: Signed) -> None:
    identifier = stored(signed).row.unique_identifier
    with signed.db.connect() as listening:
        listening.execute("LISTEN bpc_public")
        in_force(signed)
        signed.path.call(lambda pipeline: revoke(pipeline, str(signed.version), "a mistake"))
        signed.db.run("UPDATE signing_keys SET status = 'REVOKED'")
        told = [note.payload for note in listening.notifies(timeout=5, stop_after=3)]

    assert told == [identifier, identifier, ""]
    [row] = seen(signed.db)
    assert (row["status"], row["revoked_at"] is not None) == ("REVOKED", True)
    [key] = seen(signed.db, "SELECT status FROM public_keys")
    assert key["status"] == "REVOKED"


def test_what_was_never_in_force_is_not_there_when_it_is_revoked(signed: Signed) -> None:
    signed.path.call(lambda pipeline: revoke(pipeline, str(signed.version), "a mistake"))

    assert seen(signed.db) == []


def test_a_battery_that_was_recycled_says_since_when(signed: Signed) -> None:
    in_force(signed)
    passport = str(stored(signed).row.passport_id)
    signed.path.call(lambda pipeline: end_life(pipeline, passport, "recycled"))

    [row] = seen(signed.db)
    assert row["status"] == "SUPERSEDED"
    assert row["recycled_at"] is not None


def test_what_retention_removes_goes_from_the_door(signed: Signed) -> None:
    in_force(signed)
    with signed.db.connect() as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute("UPDATE passport_versions SET status = 'REVOKED'")
        connection.execute("SET session_replication_role = origin")
        connection.execute("SELECT set_config('bpc.retention', 'on', false)")
        connection.execute("DELETE FROM passport_build_documents")
        connection.execute("DELETE FROM passport_builds")
        connection.execute("DELETE FROM passport_versions")

    assert seen(signed.db) == []


def test_a_refill_makes_the_same_rows_again(signed: Signed) -> None:
    in_force(signed)
    before = seen(signed.db)
    signed.db.run("DELETE FROM public_passports")
    troubles: list[object] = []

    done = signed.path.call(lambda pipeline: refill(pipeline, refused=lambda *told: troubles.append(told)))
    again = signed.path.call(lambda pipeline: refill(pipeline, refused=lambda *told: troubles.append(told)))
    every = signed.path.call(
        lambda pipeline: refill(pipeline, everything=True, refused=lambda *told: troubles.append(told))
    )

    assert (done, again, every, troubles) == (1, 0, 1, [])
    dates = {"activated_at", "superseded_at", "revoked_at", "recycled_at"}
    [was], [row] = before, seen(signed.db)
    assert {name: row[name] for name in row if name not in dates} == {
        name: was[name] for name in was if name not in dates
    }
    assert {name for name in dates if row[name]} == {name for name in dates if was[name]} == {"activated_at"}


def test_a_version_whose_bytes_were_changed_is_left_out_by_a_refill(signed: Signed) -> None:
    in_force(signed)
    signed.db.run("DELETE FROM public_passports")
    signed.tamper("UPDATE passport_versions SET disclosures = substr(disclosures, 1, 300)")
    troubles: list[object] = []

    done = signed.path.call(lambda pipeline: refill(pipeline, refused=lambda *told: troubles.append(told)))

    assert (done, len(troubles)) == (0, 1)
