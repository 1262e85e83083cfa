"""Acts on many in the database: whose they are, what a page does, that it acts and counts or does neither."""

import psycopg
import pytest
from psycopg import errors

from tests.integration.test_immutability import session
from tests.support.database import Database
from tests.support.operators import kinds, letters

ASK = "SELECT bpc_ask_bulk(%s, %s, NULL, %s, NULL, NULL, NULL, clock_timestamp(), %s) AS id"
Row = dict[str, object]


def ask(db: Database, act: str = "retry", tenant: str | None = None, job_type: str | None = None) -> object:
    return db.one(ASK, [act, tenant, job_type, 9])["id"]


def take(db: Database, owner: str = "one", seconds: float = 30) -> Row | None:
    rows = db.run("SELECT * FROM bpc_take_bulk(%s, %s)", [owner, seconds])
    return rows[0] if rows else None


def page(db: Database, taken: Row, size: int = 2) -> Row | None:
    rows = db.run(
        "SELECT * FROM bpc_bulk_page(%s, %s, %s, 30)", [taken["bulk_act_id"], taken["lease_token"], size]
    )
    return rows[0] if rows else None


def test_it_goes_page_by_page_and_is_done_when_nothing_is_left(db: Database) -> None:
    letters(db, 3)
    letters(db, 2, job_type="TEST_EFFECT")
    ask(db, "discard", job_type="TEST_NOOP")
    taken = take(db)
    assert taken is not None

    steps = [page(db, taken) for _ in range(4)]
    assert [each and (each["act_status"], each["act_touched"]) for each in steps] == [
        ("RUNNING", 2), ("RUNNING", 3), ("DONE", 3), None,
    ]  # fmt: skip
    assert kinds(db) == {("TEST_NOOP", "CANCELLED"): 3, ("TEST_EFFECT", "DEAD_LETTER"): 2}
    assert take(db) is None


def test_what_dies_after_it_was_asked_for_is_left_alone(db: Database) -> None:
    letters(db)
    ask(db)
    letters(db, age="-1 hour")
    taken = take(db)
    assert taken is not None
    assert [page(db, taken), page(db, taken)] == [
        {"act_status": "RUNNING", "act_touched": 1, "page_touched": 1},
        {"act_status": "DONE", "act_touched": 1, "page_touched": 0},
    ]
    assert kinds(db) == {("TEST_NOOP", "QUEUED"): 1, ("TEST_NOOP", "DEAD_LETTER"): 1}


def test_one_at_a_time_carries_it_out_and_who_was_replaced_does_nothing_more(db: Database) -> None:
    letters(db, 5)
    ask(db)
    first = take(db, seconds=0.0)
    second = take(db, "two")
    assert first is not None
    assert second is not None
    assert first["bulk_act_id"] == second["bulk_act_id"]
    assert take(db, "three") is None
    assert page(db, first) is None
    assert kinds(db) == {("TEST_NOOP", "DEAD_LETTER"): 5}
    assert page(db, second, 9) == {"act_status": "RUNNING", "act_touched": 5, "page_touched": 5}


def test_it_can_be_left_to_another_at_once(db: Database) -> None:
    letters(db)
    ask(db)
    taken = take(db)
    assert taken is not None
    db.run("SELECT bpc_leave_bulk(%s, %s)", [taken["bulk_act_id"], taken["lease_token"]])

    assert page(db, taken) is None
    assert take(db, "two") is not None


def test_a_page_that_is_rolled_back_did_nothing_and_counted_nothing(db: Database) -> None:
    letters(db, 3)
    ask(db)
    taken = take(db)
    assert taken is not None
    with psycopg.connect(db.url) as connection:
        connection.execute(
            "SELECT * FROM bpc_bulk_page(%s, %s, 9, 30)", [taken["bulk_act_id"], taken["lease_token"]]
        )
        connection.rollback()  # as a kill in the middle leaves it
    assert db.one("SELECT touched FROM bulk_acts") == {"touched": 0}
    assert db.run("SELECT FROM job_events") == []
    assert page(db, taken, 9) == {"act_status": "RUNNING", "act_touched": 3, "page_touched": 3}


def test_stopped_it_goes_no_further_and_says_who_did_it(db: Database) -> None:
    letters(db, 3)
    asked = ask(db)
    taken = take(db)
    assert taken is not None
    page(db, taken)
    assert db.one("SELECT bpc_stop_bulk(%s) AS was", [asked]) == {"was": True}
    assert db.one("SELECT bpc_stop_bulk(%s) AS was", [asked]) == {"was": False}
    assert page(db, taken) is None
    assert db.one("SELECT status, touched, stopped_by FROM bulk_acts") == {
        "status": "STOPPED", "touched": 2, "stopped_by": "bpc",
    }  # fmt: skip


def test_an_owner_asks_for_its_own_tenant_and_stops_its_own_acts_only(db: Database) -> None:
    ours, other = db.tenant(), db.tenant("other")
    letters(db, 2)
    letters(db, 3, tenant="other")
    everybodys = ask(db)
    with session(db, "bpc_app", ours) as connection:
        for wanted in (None, other):
            with pytest.raises(errors.InsufficientPrivilege), connection.transaction():
                connection.execute(ASK, ["retry", wanted, None, 1])
        made = connection.execute(ASK, ["discard", ours, None, 2]).fetchone()
        assert made is not None
        stopped = "SELECT bpc_stop_bulk(%s) AS was"
        assert connection.execute(stopped, [everybodys]).fetchone() == {"was": False}
        assert [row["act"] for row in connection.execute("SELECT act FROM own_bulk_acts").fetchall()] == [
            "discard"
        ]
        for statement in ("SELECT FROM bulk_acts", "SELECT FROM bpc_take_bulk('x', 1)"):
            with pytest.raises(errors.InsufficientPrivilege), connection.transaction():
                connection.execute(statement.encode())
        connection.commit()
    db.run("SELECT bpc_stop_bulk(%s)", [everybodys])
    taken = take(db)
    assert taken is not None
    page(db, taken, 99)
    assert kinds(db) == {("TEST_NOOP", "CANCELLED"): 2, ("TEST_NOOP", "DEAD_LETTER"): 3}


def test_nobody_writes_an_act_by_himself(db: Database) -> None:
    for role in ("bpc_reader", "bpc_operator", "bpc_app", "bpc_worker"):
        for right in ("INSERT", "UPDATE", "DELETE"):
            asked = "SELECT has_table_privilege(%s, 'bulk_acts', %s) AS may"
            assert db.one(asked, [role, right]) == {"may": False}, (role, right)
        columns = "SELECT has_any_column_privilege(%s, 'bulk_acts', 'UPDATE') AS may"
        assert db.one(columns, [role]) == {"may": False}, role
