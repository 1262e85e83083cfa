"""What the table of jobs refuses, whoever writes: values out of bounds, and statuses a job cannot go to."""

from collections.abc import Callable, Iterator
from itertools import product
from uuid import uuid4

import psycopg
import pytest
from psycopg import Connection, errors

from tests.support.database import Database

Cursor = Connection[dict[str, object]]

# Per rule: the column, what just fits, and what just does not.
BOUNDS: dict[str, list[tuple[str, tuple[object, ...], tuple[object, ...]]]] = {
    "jobs_type_check": [
        (
            "type",
            ("ABC", "A_9", "A" * 64, "Z__"),
            ("", "AB", "A" * 65, "abc", "1BC", "_BC", "ABC ", "ABC\n", "\nABC", "AÄC", "A" * 5000),
        )
    ],
    "jobs_queue_check": [("queue", ("q", "q" * 100, "ü" * 100), ("", "q" * 101, "q" * 5000))],
    "jobs_priority_check": [("priority", (0, 3), (-1, 4))],
    "jobs_max_attempts_check": [("max_attempts", (1, 1_000_000), (1_000_001,))],
    "jobs_expected_duration_ms_check": [("expected_duration_ms", (None, 1), (0, -1))],
    "jobs_idempotency_key_check": [("idempotency_key", (None, "k", "k" * 500), ("", "k" * 501, "k" * 5000))],
    "jobs_correlation_id_check": [("correlation_id", (None, "", "c" * 500), ("c" * 501, "c" * 100_000))],
    "jobs_traceparent_check": [("traceparent", (None, "", "t" * 500), ("t" * 501,))],
    "jobs_times_are_finite": [
        (
            column,
            ("1970-01-01Z", "9998-12-31 23:59:59Z"),
            ("1969-12-31 23:59:59Z", "9999-01-01Z", "infinity", "-infinity"),
        )
        for column in ("created_at", "scheduled_at")
    ],
    "jobs_attempts_check": [("attempts", (0, 4), (-1,))],
    "jobs_snoozes_check": [("snoozes", (0, 1000), (-1, 1001))],
    "jobs_spec_hash_check": [("spec_hash", (None, b"x" * 32), (b"", b"x" * 31, b"x" * 33))],
    "jobs_queued_has_attempts_left": [("attempts", (4,), (5, 6)), ("max_attempts", (1,), (0, -1))],
    "jobs_running_has_a_lease": [("lease_owner", (None,), ("x",)), ("lease_expires_at", (None,), ("now",))],
}
CASES = [(name, *case) for name, cases in BOUNDS.items() for case in cases]
# By triggers, which say what is allowed; the others are CHECKs.
SAID_IN_WORDS = {
    "type", "queue", "priority", "expected_duration_ms", "idempotency_key", "correlation_id", "traceparent",
    "created_at",
}  # fmt: skip


@pytest.fixture
def connection(db: Database) -> Iterator[Cursor]:
    """As the owner of everything, who is told the same as anybody."""
    with db.connect() as connection:
        yield connection


def insert(connection: Cursor, column: str, value: object) -> None:
    names = ["tenant_id", *([] if column == "type" else ["type"]), column]
    values = ["(SELECT tenant_id FROM tenants)", *([] if column == "type" else ["'TEST_NOOP'"]), "%s"]
    connection.execute(
        f"INSERT INTO jobs ({', '.join(names)}) VALUES ({', '.join(values)})".encode(), [value]
    )


def update(connection: Cursor, column: str, value: object) -> None:
    connection.execute(f"UPDATE jobs SET {column} = %s".encode(), [value])


def copy(connection: Cursor, column: str, value: object) -> None:
    [tenant] = connection.execute("SELECT tenant_id FROM tenants").fetchall()
    row = {"tenant_id": tenant["tenant_id"], "type": "TEST_NOOP"} | {column: value}
    with connection.cursor().copy(f"COPY jobs ({', '.join(row)}) FROM STDIN".encode()) as lines:
        lines.write_row(list(row.values()))


@pytest.mark.parametrize("write", [insert, copy, update], ids=lambda write: write.__name__)
def test_a_value_out_of_bounds_is_refused_whichever_way_it_comes(
    db: Database, connection: Cursor, write: Callable[[Cursor, str, object], None]
) -> None:
    db.enqueue("TEST_NOOP")
    for rule, column, fit, unfit in CASES:
        for value in fit:
            with connection.transaction(force_rollback=True):
                write(connection, column, value)
        for value in unfit:
            with pytest.raises(errors.CheckViolation) as refused:
                write(connection, column, value)
            said = refused.value.diag
            assert (said.schema_name, said.table_name) == ("public", "jobs"), (column, value)
            assert said.constraint_name == rule, (column, value)
            if column in SAID_IN_WORDS or rule == "jobs_max_attempts_check":
                assert said.column_name == column
                assert f'"{rule}": {column} is ' in str(said.message_primary)
                assert len(str(said.message_primary)) < 300, "it quotes no long value"


def test_a_key_that_no_index_holds_is_refused_by_the_index(db: Database, connection: Cursor) -> None:
    """Before an AFTER trigger sees the row. Our own enqueue says it in words before that."""
    db.tenant()
    noise = "".join(chr(0x4E00 + number * 7919 % 20000) for number in range(5000))
    with pytest.raises(errors.ProgramLimitExceeded):
        insert(connection, "idempotency_key", noise)


def test_a_producer_is_told_too(db: Database) -> None:
    tenant = db.tenant()
    with (
        db.connect("bpc_producer") as connection,
        pytest.raises(errors.CheckViolation, match="jobs_type_check"),
    ):
        connection.execute("INSERT INTO jobs (tenant_id, type) VALUES (%s, 'lower case')", [tenant])


LIMIT = 32 * 1024 * 1024
# 81 KB of JSON that PostgreSQL stores in 2 KB, and that are 1.2 GB of text to whoever reads them.
BOMB = '{"data": [' + ", ".join(["1e131071"] * 9000) + "]}"
SMALL_BOMB = '{"data": [' + ", ".join(["1e131071"] * 300) + "]}"  # 39 MB


def a_text(length: int) -> str:
    """A payload of that many bytes as PostgreSQL writes it."""
    return '{"x": "' + "y" * (length - 9) + '"}'


@pytest.mark.parametrize("write", [insert, copy, update], ids=lambda write: write.__name__)
def test_a_payload_that_is_too_large_to_be_read_is_refused_whichever_way_it_comes(
    db: Database, connection: Cursor, write: Callable[[Cursor, str, object], None]
) -> None:
    db.enqueue("TEST_NOOP")
    with connection.transaction(force_rollback=True):
        write(connection, "payload", a_text(LIMIT))
    for unfit in (a_text(LIMIT + 1), SMALL_BOMB, BOMB):
        with pytest.raises(errors.CheckViolation) as refused:
            write(connection, "payload", unfit)
        said = refused.value.diag
        assert (said.constraint_name, said.column_name) == ("jobs_payload_check", "payload")
        assert "at most 33554432 bytes as text" in str(said.message_primary)
        assert "bpc_put_blob" in str(said.message_primary), "it says what to do"
        assert len(str(said.message_primary)) < 300, "it quotes no long value"


STATUSES = ("QUEUED", "RUNNING", "SUCCEEDED", "FAILED", "CANCELLED", "DEAD_LETTER")
BY_HAND = {
    ("DEAD_LETTER", "QUEUED"), ("FAILED", "QUEUED"), ("DEAD_LETTER", "CANCELLED"), ("FAILED", "CANCELLED"),
    ("QUEUED", "CANCELLED"), ("QUEUED", "QUEUED"),
}  # fmt: skip


def allowed(before: str, after: str, *, leased: bool, more_attempts: bool) -> bool:
    if after not in STATUSES or (after == "RUNNING") != leased:
        return False
    if before == "QUEUED" and after == "RUNNING":
        return True  # a claim
    if before == "RUNNING" and after != "RUNNING":
        return True  # an end
    return (before == after and not more_attempts) or (before, after) in BY_HAND


def a_job(db: Database, status: str, job_type: str = "TEST_NOOP", payload: str = "{}") -> str:
    lease = {"lease_owner": "x", "lease_expires_at": "now"} if status == "RUNNING" else {}
    return db.enqueue(job_type, payload, status=status, attempts=1, **lease)


def move(job_id: str, status: str, *, leased: bool, more_attempts: bool) -> bytes:
    lease = "'x', lease_expires_at = now()" if leased else "NULL, lease_expires_at = NULL"
    return (
        f"UPDATE jobs SET status = '{status}', attempts = attempts + {int(more_attempts)},"
        f" lease_owner = {lease} WHERE job_id = '{job_id}'"
    ).encode()


def test_a_status_goes_along_its_edges_only(db: Database, connection: Cursor) -> None:
    for before in STATUSES:
        job_id = a_job(db, before)
        for after, leased, more in product((*STATUSES, "DONE"), (True, False), (True, False)):
            state = None
            try:
                with connection.transaction(force_rollback=True):
                    connection.execute(move(job_id, after, leased=leased, more_attempts=more))
            except psycopg.Error as error:
                state = error.sqlstate
            legal = allowed(before, after, leased=leased, more_attempts=more)
            assert state == (None if legal else "23514"), (before, after, leased, more)


@pytest.mark.parametrize("job_type", ["TEST_NOOP", "DELIVER_WEBHOOK", "RECORD_DEAD_LETTER"])
def test_what_follows_from_a_new_status(db: Database, connection: Cursor, job_type: str) -> None:
    """A death is told once, but not of a delivery or of the telling; a delivery follows its own job."""
    deliveries = two_deliveries(db)
    for before, after in product(STATUSES, STATUSES):
        if not allowed(before, after, leased=after == "RUNNING", more_attempts=False):
            continue
        delivery = deliveries["FAILED" if after == "QUEUED" else "PENDING"]
        job_id = a_job(db, before, job_type, f'{{"webhook_delivery_id": "{delivery}"}}')
        with connection.transaction(force_rollback=True):
            connection.execute(move(job_id, after, leased=after == "RUNNING", more_attempts=False))
            tellers = connection.execute(
                "SELECT FROM jobs WHERE type = 'RECORD_DEAD_LETTER' AND parent_job_id = %s", [job_id]
            ).rowcount
            moved = connection.execute(
                "SELECT FROM webhook_deliveries WHERE webhook_delivery_id = %s AND status = %s",
                [delivery, "PENDING" if after == "QUEUED" else "FAILED"],
            ).rowcount
        died = before != after == "DEAD_LETTER"
        over = before != after and after in {"FAILED", "CANCELLED", "DEAD_LETTER"}
        again = after == "QUEUED" and before in {"FAILED", "DEAD_LETTER"}
        assert tellers == (job_type == "TEST_NOOP" and died), (before, after)
        assert moved == (job_type == "DELIVER_WEBHOOK" and (over or again)), (before, after)


def two_deliveries(db: Database) -> dict[str, object]:
    tenant, endpoint = db.tenant(), uuid4()
    db.run(
        "INSERT INTO webhook_endpoints (webhook_endpoint_id, tenant_id, url, secret, public_key)"
        " VALUES (%s, %s, 'https://a.example/', 'sealed', sha256('a'))",
        [endpoint, tenant],
    )
    add = (
        "INSERT INTO webhook_deliveries (tenant_id, webhook_endpoint_id, event_id, event_type, body, status)"
        " VALUES (%s, %s, gen_random_uuid(), 'PASSPORT_SIGNED', '', %s) RETURNING webhook_delivery_id"
    )
    return {
        status: db.one(add, [tenant, endpoint, status])["webhook_delivery_id"]
        for status in ("PENDING", "FAILED")
    }


def test_neither_a_claim_nor_a_success_calls_a_function(db: Database, connection: Cursor) -> None:
    job_id = a_job(db, "QUEUED")
    connection.execute("DROP TRIGGER record_history ON jobs")  # of the tests
    connection.execute("SET track_functions = 'pl'")
    called = "SELECT funcname FROM pg_stat_xact_user_functions"
    with connection.transaction():
        connection.execute(move(job_id, "RUNNING", leased=True, more_attempts=True))
        connection.execute(move(job_id, "SUCCEEDED", leased=False, more_attempts=False))
        assert connection.execute(called.encode()).fetchall() == []
        with pytest.raises(errors.CheckViolation), connection.transaction():
            connection.execute(move(job_id, "QUEUED", leased=False, more_attempts=False))
        assert connection.execute(called.encode()).fetchall() == [{"funcname": "bpc_guard_job_edge"}]


def test_a_job_that_succeeded_is_kept_up_in_one_index(db: Database) -> None:
    """Every index whose condition a row fits is paid for at its insert, its claim and its end."""
    job_id = a_job(db, "SUCCEEDED")
    db.run("UPDATE jobs SET spec_hash = sha256('x') WHERE job_id = %s", [job_id])
    conditions = db.run(
        "SELECT indexrelid::regclass::text AS name, coalesce(pg_get_expr(indpred, indrelid), 'true') AS fits"
        " FROM pg_index WHERE indrelid = 'jobs'::regclass"
    )
    held = [
        each["name"]
        for each in conditions
        if db.one(f"SELECT coalesce({each['fits']}, false) AS fits FROM jobs WHERE job_id = %s", [job_id])[
            "fits"
        ]
    ]

    assert held == ["jobs_pkey", "jobs_ended"]
