"""A byte changed by whoever has the server, in anything that a passport rests on: a replay names it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from bpc_worker.pipeline.audit.verify import verify
from bpc_worker.pipeline.replays import Replayed, replay_version
from bpc_worker.postgres.embedded.server import Server
from tests.support import database as databases
from tests.support.pipeline import Pipeline, pipeline
from tests.support.worker import worker

# What differs then, by table and column; of the bytes, the one in the middle is changed.
PARTS = {
    ("passport_versions", "payload"): "payload",
    ("passport_versions", "proof"): "proof",
    ("passport_versions", "receipt"): "receipt",
    ("passport_versions", "payload_hash"): "payload",
    ("passport_versions", "proof_root_hash"): "proof",
    ("passport_versions", "fields"): "view",
    ("passport_versions", "gaps"): "gaps",
    ("passport_versions", "disclosures"): "view",
    ("passport_versions", "view_signature"): "view",
    ("passport_versions", "unique_identifier"): "receipt",
    ("passport_versions", "receipt_hash"): "receipt",
    ("passport_versions", "disclosure_seed"): "payload",
    ("passport_versions", "signature"): "signature",
    ("passport_versions", "public_key"): "signature",
    ("passport_versions", "qr_payload"): "qr",
    ("passport_versions", "qr_png"): "qr",
    ("passport_versions", "compiler_build_id"): "receipt",
    ("passport_versions", "law_date"): "receipt",
    ("passport_versions", "issued_at"): "receipt",
    ("data_snapshots", "canonical"): "snapshot",
    ("data_snapshots", "snapshot_hash"): "snapshot",
    ("facts", "canonical"): "facts",
    ("facts", "payload"): "facts",
    ("facts", "payload_hash"): "facts",
    ("facts", "fact_key"): "facts",
    ("rule_package_versions", "dsl"): "rules",
    ("rule_package_versions", "dsl_sha256"): "rules",
    ("rule_package_versions", "tests_sha256"): "rules",
    ("signing_keys", "public_key"): "signature",
}
CHANGED = {
    "bytea": "set_byte({0}, length({0}) / 2, get_byte({0}, length({0}) / 2) # 1)",
    "text": "left({0}, -1) || chr(ascii(right({0}, 1)) # 1)",
    "date": "{0} + 1",
    "timestamp with time zone": "{0} + interval '1 microsecond'",
    "jsonb": "{0} || '{{\"more\": 1}}'",
}


@dataclass(frozen=True)
class Made:
    path: Pipeline
    version: str

    def replayed(self) -> Replayed:
        return self.path.call(lambda pipeline: replay_version(pipeline, self.version))

    @contextmanager
    def changed(self, table: str, column: str) -> Iterator[None]:
        """One row of that table, until the end of the block."""
        db = self.path.db
        kind = db.one(
            "SELECT data_type FROM information_schema.columns WHERE table_name = %s AND column_name = %s",
            [table, column],
        )["data_type"]
        new = CHANGED[str(kind)].format(column)
        with db.connect() as connection:
            connection.execute("SET session_replication_role = replica")
            [row] = connection.execute(
                f"WITH one AS (SELECT ctid AS at, {column}::text AS was FROM {table} ORDER BY ctid LIMIT 1)"
                f" UPDATE {table} SET {column} = {new} FROM one WHERE ctid = one.at"
                f" RETURNING {table}.ctid::text AS now_at, one.was".encode()
            ).fetchall()
            yield
            back = f"UPDATE {table} SET {column} = %s::{kind} WHERE ctid = %s::tid"
            assert connection.execute(back.encode(), [row["was"], row["now_at"]]).rowcount == 1


@pytest.fixture(scope="module")
def made(server: Server) -> Iterator[Made]:
    with databases.database(server) as db:
        path = pipeline(db)
        build = path.build()
        with worker(db.url_as("bpc_worker")):
            state = path.ended(build)
        assert state.state == "DONE"
        for row in db.run(
            "SELECT conrelid::regclass::text AS name, conname FROM pg_constraint"
            " WHERE contype = 'c' AND connamespace = 'public'::regnamespace"
        ):
            db.run(f"ALTER TABLE {row['name']} DROP CONSTRAINT {row['conname']}")  # he has the server
        yield Made(path, str(state.passport_version_id))


def test_every_byte_of_a_version_has_its_part(made: Made) -> None:
    columns = made.path.db.run(
        "SELECT column_name FROM information_schema.columns WHERE table_name = 'passport_versions'"
        " AND data_type = 'bytea'"
    )

    assert {("passport_versions", str(row["column_name"])) for row in columns} <= set(PARTS)


@pytest.mark.parametrize(("table", "column"), PARTS)
def test_a_changed_byte_is_named(made: Made, table: str, column: str) -> None:
    with made.changed(table, column):
        found = made.replayed()

    assert found.part == PARTS[table, column], found.message
    assert made.replayed().part is None
    assert made.path.call(verify).broken == 0
