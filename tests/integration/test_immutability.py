"""What is evidence cannot be changed: not by a role, and where a trigger stands, not by the owner either.

The matrices are made from the catalogue: a new table or column without protection fails here.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import product
from typing import TypeAlias
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import errors, sql

from bpc_worker import registry, wiring
from bpc_worker.config import load as config
from bpc_worker.core.base.hashing import sha256
from bpc_worker.domain.events import Happened, record
from bpc_worker.jobs.model import TenantId
from bpc_worker.pipeline.audit.verify import verify
from bpc_worker.postgres.connection import Link
from bpc_worker.postgres.dsn import Dsn
from bpc_worker.postgres.queue.session import Origin, Session, begin
from tests.support.database import Database
from tests.support.domain import Domain, an_event, compiled, domain, sign
from tests.support.pipeline import Pipeline
from tests.support.worker import until

Connection: TypeAlias = psycopg.Connection[dict[str, object]]

ROLES = ("bpc_worker", "bpc_app", "bpc_operator", "bpc_reader", "bpc_producer")

# What moves on while work goes on. Everything else, of every table, is refused once it has its last state.
MOVES = {
    "documents": {"sent_version_id", "sent_at"},
    "webhook_endpoints": {
        "status",
        "max_attempts",
        "secret",
        "public_key",
        "former_secret",
        "former_until",
        "failing_since",
        "disabled_at",
        "disabled_reason",
    },
    "webhook_subscriptions": {"active"},
    "status_lists": {"token", "token_as_of", "token_key_id"},
    "operators": {"name", "address", "contact", "web", "identifiers"},
    "facilities": {"operator_id", "name", "address", "identifiers"},
    "battery_products": {
        "name",
        "model_identifier",
        "gtin",
        "commodity_code",
        "operator_id",
        "facility_id",
    },
    "passport_builds": {"state", "snapshot_id", "passport_version_id", "errors", "finished_at"},
    "passport_build_documents": {
        "kind",
        "mime_type",
        "number_format",
        "mapping",
        "sha256",
        "sent",
        "document_version_id",
    },
}
# What no trigger guards, because nobody but the owner of the tables has a grant on it.
OWNERS = {
    "blobs": {"put_at"},
    "event_heads": {
        "tenant_id", "aggregate_type", "aggregate_id", "aggregate_version", "event_hash", "occurred_at",
    },
    "event_leaf_heads": {"tenant_id", "aggregate_type", "aggregate_id", "aggregate_version", "event_hash"},
    "rule_packages": {"rule_package_id", "tenant_id", "name", "created_at"},
    "passport_builds": {
        "build_id", "tenant_id", "battery_product_id", "passport_id", "rule_package_version_id", "law_date",
        "created_at",
    },
    "passport_build_documents": {"tenant_id", "build_id", "external_ref"},
    "status_lists": {"allotted", "open"},
    "status_places": {"status"},
    # What the public door has is a copy: functions of the owner make it, and make it again.
    "public_hosts": {"host", "tenant_id"},
    "public_keys": {"tenant_id", "key_id", "public_key", "status", "purposes"},
    "public_models": {
        "tenant_id", "host", "gtin", "battery_product_id", "name", "model_identifier", "operator",
        "operator_web",
    },
    "public_passports": {
        "passport_version_id", "tenant_id", "passport_id", "unique_identifier", "host", "granularity",
        "product", "status", "issued_at", "law_date", "activated_at", "superseded_at", "superseded_by",
        "revoked_at", "recycled_at", "economic_operator", "facility", "view",
    },
    "public_attachments": {
        "passport_version_id", "tenant_id", "sha256", "kind", "media_type", "size", "language", "title",
    },
    "public_contents": {"tenant_id", "sha256", "content"},
}  # fmt: skip

CHANGED = {
    "uuid": "gen_random_uuid()",
    "text": "coalesce({}, '') || 'X'",
    "bytea": "coalesce({}, '') || '\\x00'",
    "integer": "{} + 1",
    "bigint": "{} + 1",
    "smallint": "{} + 1",
    "ARRAY": "{} || '{{status}}'",
    "boolean": "NOT {}",
    "date": "{} + 1",
    "timestamp with time zone": "coalesce({}, now()) + interval '1 second'",
    "jsonb": "'[{{\"changed\": true}}]'",
}

# Per table: who moves it, the edges that exist, and what else has to be set in each state.
EDGES = {
    "document_versions": (
        "bpc_worker",
        {"UPLOADED>VALIDATED", "UPLOADED>REJECTED"},
        {"UPLOADED": "errors = NULL", "VALIDATED": "errors = NULL", "REJECTED": "errors = '[]'"},
    ),
    "data_snapshots": (
        "bpc_worker",
        {"BUILDING>READY", "BUILDING>SEALED", "READY>SEALED"},
        {
            "BUILDING": "canonical = NULL, snapshot_hash = NULL",
            "READY": "canonical = NULL, snapshot_hash = NULL",
            "SEALED": "canonical = 'x', snapshot_hash = sha256('x')",
        },
    ),
    "rule_package_versions": (
        "bpc_app",
        {"DRAFT>VALIDATED", "VALIDATED>PUBLISHED", "PUBLISHED>RETIRED"},
        dict.fromkeys(("DRAFT", "VALIDATED", "PUBLISHED", "RETIRED"), ""),
    ),
    "passport_versions": (
        "bpc_worker",
        {
            "COMPILING>SIGNED", "SIGNED>ACTIVE", "ACTIVE>SUPERSEDED", "SIGNED>REVOKED", "ACTIVE>REVOKED",
            "SUPERSEDED>REVOKED",
        },
        {
            "COMPILING": "signature = NULL, view_signature = NULL, public_key = NULL, qr_payload = NULL,"
            " qr_png = NULL"
        }
        | dict.fromkeys(("SIGNED", "ACTIVE", "SUPERSEDED", "REVOKED"), ""),
    ),
    "webhook_deliveries": (
        "bpc_worker",
        {"PENDING>DELIVERED", "PENDING>FAILED", "FAILED>PENDING"},
        {
            "PENDING": "delivered_at = NULL",
            "DELIVERED": "delivered_at = now()",
            "FAILED": "delivered_at = NULL",
        },
    ),
    "signing_keys": (
        "bpc_app",
        {"ACTIVE>RETIRED", "ACTIVE>REVOKED", "RETIRED>REVOKED"},
        dict.fromkeys(("ACTIVE", "RETIRED", "REVOKED"), ""),
    ),
}  # fmt: skip
_SIGNING = (
    "signature = decode(repeat('73', 64), 'hex'), view_signature = decode(repeat('76', 64), 'hex'),"
    " public_key = sha256('a public key')"
)


def domain_columns(db: Database) -> dict[str, dict[str, str]]:
    """The type of every column of every table of the domain; columns that nobody can set are left out."""
    rows = db.run(
        "SELECT table_name, column_name, data_type FROM information_schema.columns"
        " JOIN information_schema.tables USING (table_schema, table_name)"
        " WHERE table_schema = 'public' AND table_type = 'BASE TABLE' AND is_generated = 'NEVER'"
        " AND is_identity = 'NO'"
        " AND table_name NOT IN ('tenants', 'jobs', 'queue_samples', 'api_tokens', 'bulk_acts',"
        " 'api_requests')"
        " AND table_name IN (SELECT table_name"
        "   FROM information_schema.columns WHERE table_schema = 'public' AND column_name = 'tenant_id')"
    )
    found: dict[str, dict[str, str]] = {}
    for row in rows:
        found.setdefault(str(row["table_name"]), {})[str(row["column_name"])] = str(row["data_type"])
    return found


@contextmanager
def session(db: Database, role: str | None, tenant_id: str | None) -> Iterator[Connection]:
    """One transaction of that tenant, rolled back at the end unless it was committed."""
    url = db.url if role is None else db.url_as(role)
    with psycopg.connect(url, row_factory=psycopg.rows.dict_row) as connection:
        if tenant_id is not None:
            connection.execute("SELECT set_config('bpc.tenant_id', %s, true)", [tenant_id])
        yield connection
        connection.rollback()


def refusal(connection: Connection, statement: str) -> str | None:
    """The SQLSTATE of the refusal; None when it went through and changed something."""
    try:
        with connection.transaction(force_rollback=True):
            done = connection.execute(statement.encode())
            assert done.rowcount, f"touched nothing: {statement}"
    except psycopg.Error as error:
        return error.sqlstate
    return None


def change(table: str, column: str, kind: str) -> str:
    return f"UPDATE {table} SET {column} = {CHANGED[kind].format(f'{table}.{column}')}"


def test_every_table_of_the_domain_has_a_row_to_try(db: Database) -> None:
    tenant_id = domain(db).tenant_id

    for table in domain_columns(db):
        assert db.run(f"SELECT FROM {table} WHERE tenant_id = %s", [tenant_id]), (
            f"tests/support/domain.py makes no row of {table}"
        )


@pytest.mark.parametrize("role", ROLES)
def test_no_role_changes_a_column_that_has_its_last_value(db: Database, role: str) -> None:
    tenant_id = domain(db).tenant_id
    went_through = set()
    with session(db, role, tenant_id) as connection:
        for table, columns in domain_columns(db).items():
            for column, kind in columns.items():
                state = refusal(connection, change(table, column, kind))
                if state not in {errors.InsufficientPrivilege.sqlstate, errors.RestrictViolation.sqlstate}:
                    went_through.add((table, column, state))

    free = {(table, column) for table, columns in MOVES.items() for column in columns}
    assert {(table, column) for table, column, _ in went_through} <= free
    if role not in {"bpc_worker", "bpc_app"}:
        assert went_through == set()


@pytest.mark.parametrize("role", ROLES)
def test_no_role_deletes_or_truncates(db: Database, role: str) -> None:
    tenant_id = domain(db).tenant_id
    denied = errors.InsufficientPrivilege.sqlstate
    with session(db, role, tenant_id) as connection:
        for table in [*domain_columns(db), "tenants", "jobs", "job_events"]:
            assert refusal(connection, f"DELETE FROM {table}") == denied, table
            assert refusal(connection, f"TRUNCATE {table} CASCADE") == denied, table


def test_triggers_hold_the_owner_of_the_tables_too(db: Database) -> None:
    domain(db)
    with session(db, None, None) as connection:
        for table, columns in domain_columns(db).items():
            free = OWNERS.get(table, set()) | MOVES.get(table, set())
            refused = {
                column
                for column, kind in columns.items()
                if refusal(connection, change(table, column, kind)) == errors.RestrictViolation.sqlstate
            }
            assert refused == set(columns) - free, table
        for table in ("events", "event_heads"):
            for statement in (f"DELETE FROM {table}", f"TRUNCATE {table} CASCADE"):
                assert refusal(connection, statement) == errors.RestrictViolation.sqlstate


def test_an_events_id_is_nobodys_to_choose(db: Database) -> None:
    tenant_id = domain(db).tenant_id
    with session(db, "bpc_worker", tenant_id) as connection, pytest.raises(errors.GeneratedAlways):
        insert(connection, "events", {"event_id": uuid4()} | an_event(tenant_id, uuid4()))


def pairs() -> list[tuple[str, str, str]]:
    return [
        (table, before, after)
        for table, (_, _, states) in EDGES.items()
        for before, after in product(states, states)
        if before != after
    ]


def test_every_status_there_is_was_tried(db: Database) -> None:
    for table, (_, edges, states) in EDGES.items():
        check = db.one(
            "SELECT pg_get_constraintdef(oid) AS text FROM pg_constraint"
            " WHERE conrelid = %s::regclass AND conname = %s",
            [table, f"{table}_status_check"],
        )
        assert set(str(check["text"]).split("'")[1::2]) == set(states)
        assert {state for edge in edges for state in edge.split(">")} == set(states)


def test_status_goes_along_its_edges_only(db: Database) -> None:
    made = domain(db)
    for table, before, after in pairs():
        role, edges, states = EDGES[table]
        with db.connect() as connection:
            connection.execute("SET session_replication_role = replica")
            connection.execute(f"UPDATE {table} SET {_state(table, states, before)}".encode())
        with session(db, role, made.tenant_id) as connection:
            more = _SIGNING if (table, before) == ("passport_versions", "COMPILING") else states[after]
            statement = f"UPDATE {table} SET status = '{after}'{', ' if more else ''}{more}"
            expected = None if f"{before}>{after}" in edges else errors.RestrictViolation.sqlstate
            assert refusal(connection, statement) == expected, (table, before, after)


def _state(table: str, states: dict[str, str], state: str) -> str:
    more = states[state]
    if table == "passport_versions" and state != "COMPILING":
        more = _SIGNING
    return f"status = '{state}'{', ' if more else ''}{more}"


@pytest.mark.parametrize(
    ("role", "table", "columns"),
    [
        ("bpc_app", "rule_package_versions", "status"),
        ("bpc_app", "signing_keys", "status"),
        ("bpc_worker", "document_versions", "status, errors"),
        ("bpc_worker", "data_snapshots", "status, canonical, snapshot_hash"),
        ("bpc_app", "data_snapshots", "status, canonical, snapshot_hash"),
    ],
)
def test_nothing_begins_in_a_later_state(db: Database, role: str, table: str, columns: str) -> None:
    tenant_id = domain(db).tenant_id
    with session(db, role, tenant_id) as connection:
        for column in columns.split(", "):
            statement = f"INSERT INTO {table} (tenant_id, {column}) SELECT tenant_id, {column} FROM {table}"
            assert refusal(connection, statement) == errors.InsufficientPrivilege.sqlstate


def test_a_passport_version_begins_as_compiling_from_what_stands(db: Database) -> None:
    made = domain(db)
    fresh = {"tenant_id": made.tenant_id} | compiled(
        made.passport_id, made.snapshot_id, made.rule_package_version_id
    )
    attempts = {
        "signed": fresh | {"status": "SIGNED", "signature": b"s" * 64, "public_key": b"p" * 32},
        "building": fresh | {"snapshot_id": _another(db, made, "data_snapshots", "snapshot_id")},
        "no snapshot": fresh | {"snapshot_id": uuid4()},
        "no rules": fresh | {"rule_package_version_id": uuid4()},
        "no key": fresh | {"signing_key_id": "unknown"},
    }
    for columns in attempts.values():
        with session(db, "bpc_worker", made.tenant_id) as connection, pytest.raises(errors.RestrictViolation):
            insert(connection, "passport_versions", columns)
    with session(db, "bpc_worker", made.tenant_id) as connection:
        insert(connection, "passport_versions", fresh)


def _another(db: Database, made: Domain, table: str, key: str) -> object:
    return db.one(f"INSERT INTO {table} (tenant_id) VALUES (%s) RETURNING {key}", [made.tenant_id])[key]


def insert(connection: Connection, table: str, columns: dict[str, object]) -> None:
    statement = sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(
        sql.Identifier(table),
        sql.SQL(", ").join(map(sql.Identifier, columns)),
        sql.SQL(", ").join([sql.Placeholder()] * len(columns)),
    )
    connection.execute(statement, list(columns.values()))


def test_nothing_goes_into_a_snapshot_that_is_not_building(db: Database) -> None:
    made = domain(db)
    item = {"tenant_id": made.tenant_id, "snapshot_id": made.snapshot_id, "fact_id": _a_fact(db, made)}
    with session(db, "bpc_worker", made.tenant_id) as connection, pytest.raises(errors.RestrictViolation):
        insert(connection, "snapshot_items", item)


def _a_fact(db: Database, made: Domain) -> object:
    return db.one(
        "INSERT INTO facts (tenant_id, fact_type, fact_key, schema_version, payload, canonical, payload_hash)"
        " VALUES (%s, 'Battery', 'battery:Y', 1, '{}', '{}', sha256('{}')) RETURNING fact_id",
        [made.tenant_id],
    )["fact_id"]


class Waiting:
    """A statement in a second session, on its way while the first one goes on."""

    def __init__(self, db: Database, connection: Connection, work: Callable[[], object]) -> None:
        self._db = db
        self._pid = connection.info.backend_pid
        self.error: psycopg.Error | None = None

        def run() -> None:
            try:
                work()
            except psycopg.Error as error:
                self.error = error

        self._thread = threading.Thread(target=run)
        self._thread.start()

    def blocked(self) -> None:
        until(
            lambda: self._db.run("SELECT FROM pg_locks WHERE pid = %s AND NOT granted", [self._pid]),
            within=10,
            what="a wait for the other session",
        )

    def ended(self) -> str | None:
        self._thread.join(timeout=10)
        assert not self._thread.is_alive()
        return None if self.error is None else self.error.sqlstate


RETIRE = "UPDATE signing_keys SET status = 'RETIRED'"


def test_a_key_that_a_compiling_version_names_is_not_retired(db: Database) -> None:
    made = domain(db, signed=False)
    with session(db, "bpc_app", made.tenant_id) as connection:
        assert refusal(connection, RETIRE) == errors.RestrictViolation.sqlstate
        assert refusal(connection, "UPDATE signing_keys SET status = 'REVOKED'") is None
    sign(db, made.passport_version_id)
    with session(db, "bpc_app", made.tenant_id) as connection:
        assert refusal(connection, RETIRE) is None


def test_a_key_that_was_revoked_signs_nothing_more(db: Database) -> None:
    made = domain(db, signed=False)
    db.run("UPDATE signing_keys SET status = 'REVOKED'")
    with pytest.raises(errors.RestrictViolation, match="is not ACTIVE"):
        sign(db, made.passport_version_id)


@pytest.mark.parametrize(
    "isolation", [psycopg.IsolationLevel.READ_COMMITTED, psycopg.IsolationLevel.REPEATABLE_READ]
)
def test_a_key_is_not_retired_under_a_version_that_is_being_compiled(
    db: Database, isolation: psycopg.IsolationLevel
) -> None:
    made = domain(db)
    version = compiled(made.passport_id, made.snapshot_id, made.rule_package_version_id)
    with (
        session(db, "bpc_worker", made.tenant_id) as compiling,
        psycopg.connect(db.url_as("bpc_app"), row_factory=psycopg.rows.dict_row) as retiring,
    ):
        retiring.isolation_level = isolation
        retiring.execute("SELECT set_config('bpc.tenant_id', %s, true)", [made.tenant_id])
        retiring.execute("SELECT count(*) FROM passport_versions")  # a view from before
        insert(compiling, "passport_versions", {"tenant_id": made.tenant_id} | version)
        retire = Waiting(db, retiring, lambda: retiring.execute(RETIRE))
        retire.blocked()
        compiling.commit()
        assert retire.ended() == errors.RestrictViolation.sqlstate
    assert db.one("SELECT status FROM signing_keys")["status"] == "ACTIVE"


def test_no_version_is_compiled_with_a_key_that_is_being_retired(db: Database) -> None:
    made = domain(db)
    version = compiled(made.passport_id, made.snapshot_id, made.rule_package_version_id)
    columns = {"tenant_id": made.tenant_id} | version
    with (
        session(db, "bpc_worker", made.tenant_id) as compiling,
        session(db, "bpc_app", made.tenant_id) as retiring,
    ):
        retiring.execute(RETIRE.encode())
        compile_it = Waiting(db, compiling, lambda: insert(compiling, "passport_versions", columns))
        compile_it.blocked()
        retiring.commit()
        assert compile_it.ended() == errors.RestrictViolation.sqlstate


def end_of(db: Database, chain: UUID) -> bytes:
    found = db.one("SELECT event_hash FROM event_heads WHERE aggregate_id = %s", [chain])["event_hash"]
    assert isinstance(found, bytes)
    return found


def heads(db: Database) -> list[dict[str, object]]:
    return db.run("SELECT aggregate_version, event_hash FROM event_heads")


@pytest.mark.parametrize("role", ["bpc_worker", "bpc_app"])
def test_a_head_is_not_moved_by_hand(db: Database, role: str) -> None:
    made = domain(db)
    [before] = heads(db)
    head = {
        "tenant_id": made.tenant_id, "aggregate_type": "passport", "aggregate_id": uuid4(),
        "aggregate_version": 1, "event_hash": sha256(b"x"), "occurred_at": "2027-02-18T00:00:00Z",
    }  # fmt: skip
    with session(db, role, made.tenant_id) as connection, pytest.raises(errors.InsufficientPrivilege):
        insert(connection, "event_heads", head)
    there = made.chain, 1, None  # the place of an event that is there
    with session(db, role, made.tenant_id) as connection:
        skipped = an_event(made.tenant_id, *there, number=1)
        names, marks = ", ".join(skipped), ", ".join(["%s"] * len(skipped))
        statement = f"INSERT INTO events ({names}) VALUES ({marks}) ON CONFLICT DO NOTHING"
        connection.execute(statement.encode(), list(skipped.values()))
        connection.commit()
    assert heads(db) == [before]


@pytest.mark.parametrize("role", ROLES)
def test_no_guard_can_be_put_on_a_table_of_ones_own(db: Database, role: str) -> None:
    """It would do with the owner's rights what it does, to rows that somebody made up."""
    guards = db.run(
        "SELECT proname FROM pg_proc WHERE prosecdef AND prorettype = 'trigger'::regtype"
        " AND pg_get_userbyid(proowner) = 'bpc_owner'"
    )
    assert guards
    with session(db, role, None) as connection:
        connection.execute("CREATE TEMP TABLE mine AS SELECT gen_random_uuid() AS tenant_id")
        for row in guards:
            statement = sql.SQL("CREATE TRIGGER t AFTER INSERT ON mine FOR EACH ROW EXECUTE FUNCTION {}()")
            with pytest.raises(errors.InsufficientPrivilege), connection.transaction():
                connection.execute(statement.format(sql.Identifier(str(row["proname"]))))


def test_a_chain_has_no_gap_and_no_second_end(db: Database) -> None:
    made = domain(db)
    first = end_of(db, made.chain)
    attempts = {
        "a gap": an_event(made.tenant_id, made.chain, 3, first),
        "another before it": an_event(made.tenant_id, made.chain, 2, sha256(b"other")),
        "a second beginning of another": an_event(made.tenant_id, uuid4(), 2, first),
    }
    for columns in attempts.values():
        with (
            session(db, "bpc_worker", made.tenant_id) as connection,
            pytest.raises(errors.SerializationFailure),
        ):
            insert(connection, "events", columns)
    with session(db, "bpc_worker", made.tenant_id) as connection, pytest.raises(errors.UniqueViolation):
        insert(connection, "events", an_event(made.tenant_id, made.chain))


@pytest.mark.parametrize("first_commits", [True, False])
@pytest.mark.parametrize("begun", [True, False])
def test_of_two_sessions_at_the_same_place_one_appends(
    db: Database, *, begun: bool, first_commits: bool
) -> None:
    made = domain(db)
    chain = made.chain if begun else uuid4()
    version, prev = (2, end_of(db, chain)) if begun else (1, None)
    columns, other = (an_event(made.tenant_id, chain, version, prev, number) for number in (0, 1))
    with (
        session(db, "bpc_worker", made.tenant_id) as one,
        session(db, "bpc_worker", made.tenant_id) as two,
    ):
        insert(one, "events", columns)
        second = Waiting(db, two, lambda: insert(two, "events", other))
        second.blocked()
        one.commit() if first_commits else one.rollback()
        assert second.ended() == (errors.UniqueViolation.sqlstate if first_commits else None)
        with suppress(psycopg.Error):
            two.commit()
    [kept] = db.run(
        "SELECT event_hash FROM events WHERE aggregate_id = %s AND aggregate_version = %s",
        [chain, columns["aggregate_version"]],
    )
    expected = (columns if first_commits else other)["event_hash"]
    assert kept["event_hash"] == expected
    head = db.one("SELECT event_hash FROM event_heads WHERE aggregate_id = %s", [chain])
    assert head["event_hash"] == expected


@pytest.mark.parametrize("begun", [True, False])
def test_forty_at_once_make_one_chain(db: Database, *, begun: bool) -> None:
    tenant_id = TenantId(UUID(db.tenant()))
    url = db.url_as("bpc_worker")
    chain = uuid4()
    queue = wiring.queue_settings(config.load(env={}), registry.load())

    async def append(number: int) -> None:
        link = Link(Dsn(url=url, application_name="append", lock_timeout=60, statement_timeout=60))
        try:
            await begin(link, "READ COMMITTED", Origin(tenant_id=tenant_id), timeout=60)
            happened = Happened(
                event_type="PASSPORT_SIGNED",
                aggregate_type="passport",
                aggregate_id=chain,
                payload={"number": number},
            )
            session = Session(link, Origin(tenant_id=tenant_id), queue, 60)
            await record(session, happened, tenant_id=tenant_id, actor_id="login:bpc_worker_login")
            await link.run(b"COMMIT", timeout=60)
        finally:
            link.drop()

    async def all_at_once() -> None:
        if begun:
            await append(0)
        await asyncio.gather(*map(append, range(1, 41)))

    asyncio.run(all_at_once())
    report = Pipeline(db).call(verify)
    assert (report.findings, report.chains, report.events) == ([], 1, 40 + begun)
    assert len(db.run("SELECT DISTINCT payload FROM events")) == 40 + begun
    in_order = db.run("SELECT occurred_at FROM events ORDER BY aggregate_version")
    assert in_order == sorted(in_order, key=lambda row: str(row["occurred_at"]))
