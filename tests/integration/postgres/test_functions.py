"""Functions of the database: made anew when their text changes, closed, deaf to the caller's search_path."""

from dataclasses import replace

import psycopg
import pytest

from bpc_worker.postgres import migrate as migrations
from bpc_worker.postgres.migrate import Migration, Script, known, known_functions, migrate
from tests.support.database import Database

CHANGED = "explain_limits"


def clock_text(db: Database) -> object:
    return db.one("SELECT bpc_clock_text('2026-01-02Z') AS text")["text"]


def later_release() -> list[Script]:
    """One that writes a single function otherwise."""
    return [
        replace(each, text=each.text.replace("YYYY-MM-DD", "DD.MM.YYYY "))
        if each.version == CHANGED
        else each
        for each in known_functions()
    ]


def test_a_function_that_changed_is_made_anew_and_no_other(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    with monkeypatch.context() as later:
        later.setattr(migrations, "known_functions", later_release)

        assert migrate(db.url, tell=told.append) == [f"functions/{CHANGED}"]
        assert told == [f"functions: {CHANGED}"]
        assert clock_text(db) == "02.01.2026 T00:00:00Z"

    assert migrate(db.url) == [], "a former release, deployed beside the later one, leaves it alone"
    assert clock_text(db) == "02.01.2026 T00:00:00Z"


def test_a_function_that_fails_leaves_all_of_them_as_they_were(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = [*later_release(), Script("wrong", "SELECT 1/0")]
    monkeypatch.setattr(migrations, "known_functions", lambda: wrong)

    with pytest.raises(psycopg.errors.DivisionByZero):
        migrate(db.url)
    assert clock_text(db) == "2026-01-02T00:00:00Z"


def test_functions_that_a_migration_stands_on_are_applied_with_it(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when they were there and it has dropped them: they come back as they were."""
    later = Migration(
        "9999_later",
        "-- Former release: keeps working.\n-- Functions first: job_bell, same_payload\n"
        "CREATE TRIGGER again AFTER UPDATE ON jobs FOR EACH STATEMENT EXECUTE FUNCTION bpc_ring();",
    )
    db.run("DROP FUNCTION bpc_same_payload")
    monkeypatch.setattr(migrations, "known", lambda: [*known(), later])

    assert migrate(db.url) == ["9999_later"]
    assert db.one("SELECT to_regproc('bpc_same_payload') IS NOT NULL AS back") == {"back": True}


def test_postgres_accepts_every_body(db: Database) -> None:
    """They are made unread, because they may name what comes later; now everything is there."""
    with db.connect() as connection:
        for each in known_functions():
            connection.execute(each.in_schema("public"))


@pytest.mark.parametrize("each", known_functions(), ids=lambda each: each.version)
def test_a_file_of_functions_is_short(each: Script) -> None:
    assert len(each.text.splitlines()) <= 120


# One is looked into by the planner, the other commits: both name the schema where they name anything.
SETS_NO_SEARCH_PATH = {"bpc_dead_letters", "bpc_all_dead", "bpc_canonical_json"}


def test_every_function_finds_our_objects_and_nobody_elses(db: Database) -> None:
    rows = db.run(
        "SELECT proname, prosecdef, has_function_privilege('public', oid, 'EXECUTE') AS open_to_all,"
        " prosqlbody IS NOT NULL AS bound, coalesce(array_to_string(proconfig, '; '), '') AS settings"
        " FROM pg_proc WHERE proowner = 'bpc_owner'::regrole"
    )

    assert len(rows) > 40
    for row in rows:
        assert not row["open_to_all"], row
        if row["bound"] or row["proname"] in SETS_NO_SEARCH_PATH:
            assert (row["prosecdef"], row["settings"]) == (False, ""), row
        else:
            assert str(row["settings"]).startswith("search_path=pg_catalog, public, pg_temp"), row
