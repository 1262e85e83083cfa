"""Passports per second, documents to QR, beside the least it could cost.

`python -m tests.bench.bench_passports [how many]`

Ours: one worker, its children on the machine's cores, a real PostgreSQL with fsync. The floor: a script that
parses, compiles, signs and draws the same documents, and inserts the same rows, one transaction per passport,
without queue, leases, guards or keys. Both time the wall; they run one after the other on the same server.
"""

import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from uuid import UUID, uuid4

import psycopg
from psycopg import sql
from psycopg.rows import dict_row, tuple_row

from bpc_worker.core.base import canonical_json
from bpc_worker.core.base.hashing import sha256
from bpc_worker.core.base.messages import Kind
from bpc_worker.core.base.signing import Ed25519Signer
from bpc_worker.core.passport.compile import Identity, evaluate_passport, receipt_of
from bpc_worker.core.passport.qr_text import qr_text
from bpc_worker.core.passport.receipt import receipt_bytes, receipt_hash
from bpc_worker.core.passport.salts import Salts
from bpc_worker.core.passport.snapshot import FactRef, seal
from bpc_worker.core.passport.view import claims
from bpc_worker.core.rules.facts import make_fact
from bpc_worker.core.rules.module import load
from bpc_worker.core.rules.typed import TypedModule
from bpc_worker.documents.model import Accepted, Declared
from bpc_worker.documents.parse import parse_document
from bpc_worker.domain.qr_image import qr_png
from bpc_worker.files.rules import read_rules
from bpc_worker.keys.keyring import DEVELOPMENT_KEY_ID, DEVELOPMENT_SEED
from bpc_worker.pipeline.builds.folder import read_folder
from tests.support import database as databases
from tests.support.database import Database
from tests.support.pipeline import Pipeline, battery, pipeline
from tests.support.worker import until, worker

PASSPORTS = 100
WARM_UP = 10
GOAL_RATIO = 0.6

# Of one build, in an order in which they could be inserted; what several builds share is there already.
_ROWS = {
    "battery_products": "SELECT * FROM battery_products",
    "passports": (
        "SELECT t.* FROM passports t JOIN passport_builds b USING (passport_id) WHERE b.build_id = %s"
    ),
    "documents": (
        "SELECT DISTINCT t.* FROM documents t JOIN document_versions v USING (document_id)"
        " JOIN passport_build_documents d USING (document_version_id) WHERE d.build_id = %s"
    ),
    "document_versions": (
        "SELECT t.* FROM document_versions t JOIN passport_build_documents d USING (document_version_id)"
        " WHERE d.build_id = %s"
    ),
    "facts": (
        "SELECT DISTINCT t.* FROM facts t JOIN fact_sources s USING (fact_id)"
        " JOIN passport_build_documents d USING (document_version_id) WHERE d.build_id = %s"
    ),
    "fact_sources": (
        "SELECT t.* FROM fact_sources t JOIN passport_build_documents d USING (document_version_id)"
        " WHERE d.build_id = %s"
    ),
    "data_snapshots": (
        "SELECT t.* FROM data_snapshots t JOIN passport_builds b USING (snapshot_id) WHERE b.build_id = %s"
    ),
    "snapshot_items": (
        "SELECT t.* FROM snapshot_items t JOIN passport_builds b USING (snapshot_id) WHERE b.build_id = %s"
    ),
    "passport_versions": (
        "SELECT t.* FROM passport_versions t JOIN passport_builds b USING (passport_version_id)"
        " WHERE b.build_id = %s"
    ),
    "passport_builds": "SELECT t.* FROM passport_builds t WHERE build_id = %s",
    "passport_build_documents": "SELECT t.* FROM passport_build_documents t WHERE build_id = %s",
    "events": (
        "SELECT t.* FROM events t, passport_builds b WHERE b.build_id = %s"
        " AND (aggregate_id IN (b.passport_id, b.snapshot_id)"
        " OR aggregate_id IN (SELECT document_id FROM passport_build_documents d"
        " JOIN document_versions v USING (document_version_id) WHERE d.build_id = b.build_id))"
    ),
    "jobs": "SELECT t.* FROM jobs t WHERE correlation_id = %s::text",
}


_GENERATED = {("events", "event_id")}


@dataclass(frozen=True)
class Rows:
    table: str
    columns: tuple[str, ...]
    values: list[tuple[object, ...]]


def folders(root: Path, count: int, prefix: str) -> list[Path]:
    """Batteries with documents of their own, each of them: nothing is known already."""
    made = []
    for number in range(count):
        folder = battery(root / f"{prefix}{number}", f"{prefix}-{number:05}")
        bom = folder / "bom.csv"
        bom.write_text(bom.read_text().replace("Holzfaser AG", f"Holzfaser AG {prefix} {number}"))
        pcf = json.loads((folder / "pcf.json").read_text())
        pcf["stages"]["distribution"]["kg_co2e"] = f"610.{number:05}"
        pcf["stages"]["production"]["kg_co2e"] = f"1949.5{number:05}"
        (folder / "pcf.json").write_text(json.dumps(pcf))
        made.append(folder)
    return made


def ours(
    db: Database, path: Pipeline, given: Sequence[Path], warm_up: Sequence[Path]
) -> tuple[float, list[UUID]]:
    """Seconds from the moment all builds are due until the last code is drawn."""
    with worker(db.url_as("bpc_worker"), BPC_LOG_LEVEL="warning"):
        for build in [path.build(folder) for folder in warm_up]:
            assert path.ended(build).state == "DONE"
        db.run("CREATE FUNCTION later() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
               " NEW.scheduled_at := now() + interval '1 hour'; RETURN NEW; END $$;"
               " CREATE TRIGGER later BEFORE INSERT ON jobs FOR EACH ROW EXECUTE FUNCTION later()",
               )  # fmt: skip
        builds = [path.build(folder) for folder in given]
        db.run("DROP TRIGGER later ON jobs")
        db.run("VACUUM ANALYZE")
        start = time.perf_counter()
        db.run("UPDATE jobs SET scheduled_at = now() WHERE status = 'QUEUED'")
        until(lambda: not undone(db), within=600, what="all builds", every=0.05)
        return time.perf_counter() - start, builds


def undone(db: Database) -> bool:
    return bool(db.run("SELECT FROM passport_builds WHERE state <> 'DONE' LIMIT 1"))


def rows_of(db: Database, builds: Sequence[UUID]) -> list[list[Rows]]:
    with psycopg.connect(db.url, row_factory=tuple_row) as connection:
        return [list(_rows(connection, build)) for build in builds]


def _rows(connection: psycopg.Connection[tuple[object, ...]], build: UUID) -> Iterator[Rows]:
    for table, query in _ROWS.items():
        cursor = connection.execute(query.encode(), [build] if "%s" in query else None)
        columns = tuple(column.name for column in cursor.description or ())
        kept = [at for at, name in enumerate(columns) if (table, name) not in _GENERATED]
        values = [_sendable(tuple(row[at] for at in kept)) for row in cursor.fetchall()]
        yield Rows(table, tuple(columns[at] for at in kept), values)


def _sendable(row: tuple[object, ...]) -> tuple[object, ...]:
    return tuple(json.dumps(value) if isinstance(value, dict | list) else value for value in row)


def floor(db: Database, given: Sequence[Path], rows: Sequence[list[Rows]]) -> float:
    rules = load(read_rules("battery_core"))
    contents = [read_folder(folder, document_bytes=2**20) for folder in given]
    signer = Ed25519Signer(DEVELOPMENT_KEY_ID, DEVELOPMENT_SEED)
    with psycopg.connect(db.url, row_factory=dict_row) as connection:
        connection.execute("SET session_replication_role = replica")
        connection.commit()
        make(contents[0], rules, signer)
        start = time.perf_counter()
        for folder, inserted in zip(contents, rows, strict=True):
            make(folder, rules, signer)
            insert(connection, inserted)
            connection.commit()
        return time.perf_counter() - start


def make(folder, rules: TypedModule, signer) -> bytes:  # type: ignore[no-untyped-def]
    """Parse, seal, compile, sign, draw."""
    facts = []
    for document in folder.documents:
        entry = document.entry
        declared = Declared(kind=entry.kind, mime_type=entry.mime_type, number_format=entry.number_format)
        found = parse_document(document.content, declared)
        assert isinstance(found, Accepted)
        facts += [make_fact(each.fact_type, each.fact_key, each.payload) for each in found.facts]
    refs = [FactRef(each.fact_type, each.fact_key, bytes.fromhex(each.payload_hash)) for each in facts]
    identity = Identity(
        tenant_id=uuid4(),
        passport_id=uuid4(),
        battery_product_id=uuid4(),
        rule_package_version_id=uuid4(),
        dsl_sha256=sha256(rules.source.encode()),
        tests_sha256=sha256(b""),
        signing_key_id=signer.key_id,
        law_date=date(2028, 8, 18),
        issued_at=datetime.now(UTC),
        unique_identifier="https://id.example.com/p/0123456789ABCDEF",
        status_list_uri="https://id.example.com/status/1",
        status_list_idx=1,
        rules_name="battery_core",
    )
    snapshot = seal(uuid4(), refs, bytes(16))
    made = evaluate_passport(snapshot, facts, rules, identity, salts=Salts(bytes(32)))
    receipt = receipt_of(identity, snapshot, made)
    signer.sign(Kind.RECEIPT, receipt_bytes(receipt))
    signer.sign(Kind.VIEW, claims(receipt, made.fields))
    text = qr_text(
        passport_version_id=receipt.passport_version_id,
        payload_hash=receipt.payload_hash,
        proof_root_hash=receipt.proof_root_hash,
        receipt_hash=receipt_hash(receipt),
    )
    canonical_json.decode(made.payload)
    return qr_png(text)


def insert(connection: psycopg.Connection[dict[str, object]], rows: Sequence[Rows]) -> None:
    with connection.cursor() as cursor:
        for each in rows:
            if each.values:
                statement = sql.SQL("INSERT INTO {} ({}) VALUES ({}) ON CONFLICT DO NOTHING").format(
                    sql.Identifier(each.table),
                    sql.SQL(", ").join(map(sql.Identifier, each.columns)),
                    sql.SQL(", ").join(sql.Placeholder() * len(each.columns)),
                )
                cursor.executemany(statement, each.values)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else PASSPORTS
    with tempfile.TemporaryDirectory() as root, databases.postgres() as server:
        databases.make_template(server)
        warm_up = folders(Path(root), WARM_UP, "warm")
        given = folders(Path(root), count, "P")
        with databases.database(server) as db, databases.database(server) as bare:
            [fsync] = db.run("SHOW fsync")
            path = pipeline(db)
            seconds, builds = ours(db, path, given, warm_up)
            least = floor(bare, given, rows_of(db, builds))
    ratio = least / seconds
    print(f"fsync {fsync['fsync']}, {count} passports of 3 documents each")
    print(f"floor  {count / least:7.1f} passports/s  {1000 * least / count:7.1f} ms each")
    print(f"ours   {count / seconds:7.1f} passports/s  {1000 * seconds / count:7.1f} ms each")
    print(f"ratio  {ratio:7.2f}  goal {GOAL_RATIO} {'reached' if ratio >= GOAL_RATIO else 'MISSED'}")


if __name__ == "__main__":
    main()
