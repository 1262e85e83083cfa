"""What somebody can do who has the worker's login and no key: put rows, events and jobs into the database."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import cast
from uuid import UUID

import psycopg

from bpc_worker.core.base import canonical_json
from bpc_worker.core.base.hashing import sha256
from bpc_worker.core.passport.receipt import issuer_of, passport_version_id
from tests.support.database import Database
from tests.support.pipeline import Pipeline
from tests.support.worker import until, worker

Row = dict[str, object]

_NAMED = (
    "tenant_id", "passport_id", "snapshot_id", "rule_package_version_id", "compiler_build_id", "law_date",
    "issued_at",
)  # fmt: skip


@dataclass(frozen=True)
class Forger:
    """Speaks for one tenant, as every login with bpc_worker's rights can."""

    db: Database
    tenant: str = "acme"

    @contextmanager
    def session(self) -> Iterator[psycopg.Connection[Row]]:
        with self.db.connect("bpc_worker") as connection:
            connection.execute("SELECT set_config('bpc.tenant_id', %s, false)", [self.db.tenant(self.tenant)])
            yield connection

    def insert(self, table: str, row: Mapping[str, object]) -> None:
        marks = ", ".join(["%s"] * len(row))
        with self.session() as connection:
            statement = f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})"
            connection.execute(statement.encode(), list(row.values()))

    def run(self, statement: str, params: list[object]) -> None:
        with self.session() as connection:
            assert connection.execute(statement.encode(), params).rowcount == 1

    def queue(self, job_type: str, payload: Mapping[str, object]) -> str:
        with self.session() as connection:
            row = connection.execute(
                "INSERT INTO jobs (tenant_id, type, payload) VALUES (%s, %s, %s) RETURNING job_id",
                [self.db.tenant(self.tenant), job_type, json.dumps(payload)],
            ).fetchone()
        assert row is not None
        return str(row["job_id"])

    def allot(self, version: UUID, issuer: str) -> Row:
        """Every worker may ask for a place, for any version and any issuer."""
        with self.session() as connection:
            statement = "SELECT status_list, status_idx FROM bpc_allot_status(%s, %s)"
            row = connection.execute(statement, [version, issuer]).fetchone()
        assert row is not None
        return row


def unsigned_rows(path: Pipeline, build: UUID, count: int) -> list[Row]:
    """As COMPILE_PASSPORT makes them, each of another moment; taken away before anybody has signed them."""
    db = path.db
    compile_only(path, [compile_payload(db, build) | {"issued_at": moment(n)} for n in range(count)])
    rows = db.run(f"SELECT * FROM passport_versions WHERE {_MOMENTS} ORDER BY issued_at")
    with db.connect() as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute(f"DELETE FROM passport_versions WHERE {_MOMENTS}".encode())
        connection.execute("DELETE FROM jobs WHERE type = 'SIGN_PASSPORT' AND status = 'QUEUED'")
    assert len(rows) == count
    return rows


def moment(number: int) -> str:
    return f"2028-09-01T00:00:{number:02}Z"


_MOMENTS = "issued_at BETWEEN '2028-09-01Z' AND '2028-09-02Z'"


def compile_payload(db: Database, build: UUID) -> dict[str, object]:
    row = db.one(
        "SELECT passport_id, snapshot_id, rule_package_version_id, law_date FROM passport_builds"
        " WHERE build_id = %s",
        [build],
    )
    return {name: str(value) for name, value in row.items()}


def compile_only(path: Pipeline, payloads: list[dict[str, object]], **settings: object) -> None:
    """Versions that wait for their signature."""
    db = path.db
    db.run("SELECT bpc_pause('type', 'SIGN_PASSPORT', 'a test', NULL)")
    for payload in payloads:
        db.enqueue("COMPILE_PASSPORT", json.dumps(payload))
    with worker(db.url_as("bpc_worker"), **settings):
        running = "SELECT FROM jobs WHERE type = 'COMPILE_PASSPORT' AND status IN ('QUEUED', 'RUNNING')"
        until(lambda: not db.run(running), within=60, what="the end of all compilations", every=0.1)
    assert not db.run("SELECT FROM jobs WHERE type = 'COMPILE_PASSPORT' AND status <> 'SUCCEEDED'")
    db.run("SELECT bpc_resume('type', 'SIGN_PASSPORT')")


def receipt_says(row: Row, **members: object) -> Row:
    """The row with a receipt of these members."""
    said = canonical_json.decode(cast("bytes", row["receipt"]))
    assert isinstance(said, dict)
    data = canonical_json.encode(said | members)
    return row | {"receipt": data, "receipt_hash": sha256(data)}


def row_says(row: Row, forger: Forger, **columns: object) -> Row:
    """The row with these columns, the id and the place that follow, and a receipt that says the same."""
    changed = row | columns
    named = {name: changed[name] for name in _NAMED}
    version = passport_version_id(**named)  # type: ignore[arg-type]  # columns
    issuer = issuer_of(changed["unique_identifier"])
    place = forger.allot(version, issuer)
    told = {name: _text(value) for name, value in columns.items()}
    return receipt_says(
        changed | place | {"passport_version_id": version},
        passport_version_id=str(version),
        status_list_uri=f"{issuer}/status/{place['status_list']}",
        status_list_idx=place["status_idx"],
        **told,
    )


def _text(value: object) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)


def payload_says(row: Row, **fields: object) -> Row:
    """The row with a payload of its own, under its own hash."""
    said = canonical_json.decode(cast("bytes", row["payload"]))
    assert isinstance(said, dict)
    data = canonical_json.encode(said | {"fields": fields})
    return row | {"payload": data, "payload_hash": sha256(data)}
