"""An id of another tenant is no id at all: the same refusal in the same words, and nothing is touched."""

import json
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from uuid import uuid4

import pytest

from bpc_worker.postgres.embedded.server import Server
from tests.support import database as databases
from tests.support.database import Database
from tests.support.pipeline import pipeline
from tests.support.worker import until, worker

ENDED = {"SUCCEEDED", "FAILED", "DEAD_LETTER", "CANCELLED"}

# Every id in every payload. Each is put there in turn, beside ids of our own.
IDS = {
    "INGEST_DOCUMENT": ("build_id",),
    "PARSE_FACTS": ("document_version_id", "build_id"),
    "BUILD_SNAPSHOT": ("snapshot_id", "passport_id", "battery_product_id", "build_id"),
    "SEAL_ITEMS": ("battery_product_id", "rule_package_version_id"),
    "RUN_RULE_TESTS": ("rule_package_version_id",),
    "COMPILE_PASSPORT": ("passport_id", "snapshot_id", "rule_package_version_id", "build_id"),
    "SIGN_PASSPORT": ("passport_version_id", "build_id"),
    "GENERATE_QR": ("passport_version_id", "build_id"),
    "EXPORT_PASSPORT": ("passport_version_id",),
    "DELIVER_WEBHOOK": ("webhook_delivery_id",),
    "RECORD_DEAD_LETTER": ("job_id",),
}
CASES = [(job_type, name) for job_type, names in IDS.items() for name in names]


@dataclass(frozen=True)
class Tenants:
    """Two tenants with a passport each, and a worker."""

    db: Database
    ours: dict[str, str]
    theirs: dict[str, str]

    def run(self, job_type: str, **changed: object) -> dict[str, object]:
        """The row of a job of ours with this payload, once it has ended."""
        payload = self.payload(job_type) | changed
        if job_type == "BUILD_SNAPSHOT":  # of a battery or of a model
            del payload["passport_id" if "battery_product_id" in changed else "battery_product_id"]
        job_id = self.db.enqueue(job_type, json.dumps(payload), idempotency_key=str(uuid4()))

        def ended() -> dict[str, object] | None:
            row = self.db.job(job_id)
            return row if row["status"] in ENDED else None

        row = until(ended, within=60, what=f"the end of {job_type} {changed}")
        assert row is not None
        return row

    def payload(self, job_type: str) -> dict[str, object]:
        own: dict[str, object] = {name: self.ours[name] for name in IDS[job_type]}
        if job_type == "INGEST_DOCUMENT":
            content = {"content_base64": b64encode(b"{}").decode(), "mime_type": "application/json"}
            own |= content | {"kind": "OTHER", "external_ref": "bom.csv"}
        if job_type == "EXPORT_PASSPORT":
            own["format"] = "view"
        if job_type in {"COMPILE_PASSPORT", "SEAL_ITEMS"}:
            own["law_date"] = self.ours["law_date"]
        if job_type == "SEAL_ITEMS":
            own["passport_ids"] = [self.ours["passport_id"]]
        return own

    def of_theirs(self) -> list[str]:
        tables = (
            "document_versions",
            "data_snapshots",
            "passport_versions",
            "passport_builds",
            "events",
            "webhook_deliveries",
            "jobs",
        )
        tenant_id = self.theirs["tenant_id"]
        return [
            str(
                self.db.run(
                    f"SELECT to_jsonb(t)::text FROM {table} t WHERE tenant_id = %s ORDER BY 1", [tenant_id]
                )
            )
            for table in tables
        ]


@pytest.fixture(scope="module")
def tenants(server: Server) -> Iterator[Tenants]:
    with databases.database(server) as db, TemporaryDirectory() as folder:
        paths = [pipeline(db, "acme"), pipeline(db, "other")]
        builds = [path.build() for path in paths]
        with worker(db.url_as("bpc_worker"), BPC_EXPORT_FOLDER=folder):
            for path, build in zip(paths, builds, strict=True):
                assert path.ended(build, within=120).state == "DONE"
            ours, theirs = (_ids(db, db.tenant(path.tenant)) for path in paths)
            db.run(  # theirs is PENDING, and must stay so whatever becomes of jobs of ours that name it
                "UPDATE webhook_deliveries SET status = 'DELIVERED', delivered_at = now()"
                " WHERE tenant_id = %s",
                [ours["tenant_id"]],
            )
            yield Tenants(db, ours, theirs)


def _ids(db: Database, tenant_id: str) -> dict[str, str]:
    row = db.one(
        "SELECT b.tenant_id, b.build_id, b.passport_id, b.battery_product_id, b.snapshot_id,"
        " b.rule_package_version_id, b.passport_version_id, b.law_date,"
        " min(d.document_version_id::text) AS document_version_id"
        " FROM passport_builds b JOIN passport_build_documents d USING (build_id)"
        " WHERE b.tenant_id = %s GROUP BY b.build_id",
        [tenant_id],
    )
    dead = db.one(
        "INSERT INTO jobs (tenant_id, type, status, attempts, finished_at)"
        " VALUES (%s, 'TEST_NOOP', 'DEAD_LETTER', 5, now()) RETURNING job_id",
        [tenant_id],
    )
    delivery = db.one(
        "WITH endpoint AS (INSERT INTO webhook_endpoints"
        " (webhook_endpoint_id, tenant_id, url, secret, public_key)"
        " VALUES (gen_random_uuid(), %s, 'https://example.com/', 'sealed', sha256('key'))"
        " RETURNING tenant_id, webhook_endpoint_id)"
        " INSERT INTO webhook_deliveries (tenant_id, webhook_endpoint_id, event_id, event_type, body)"
        " SELECT tenant_id, webhook_endpoint_id, gen_random_uuid(), 'PASSPORT_SIGNED', '{}' FROM endpoint"
        " RETURNING webhook_delivery_id",
        [tenant_id],
    )
    return {name: str(value) for name, value in (row | dead | delivery).items()}


def test_every_id_of_every_payload_is_tried() -> None:
    from bpc_worker import registry

    for job_type, spec in registry.load().items():
        names = {name for name in spec.payload.__struct_fields__ if name.endswith("_id")}
        if names and not job_type.startswith("TEST_"):
            assert names == set(IDS[job_type]), job_type


@pytest.mark.parametrize(("job_type", "name"), CASES)
def test_an_id_of_another_tenant_is_an_id_of_nobody(tenants: Tenants, job_type: str, name: str) -> None:
    before = tenants.of_theirs()
    foreign = tenants.run(job_type, **{name: tenants.theirs[name]})
    nobodys = tenants.run(job_type, **{name: str(uuid4())})

    assert (foreign["status"], foreign["fail_code"], foreign["attempts"]) == ("FAILED", "NOT_FOUND", 1)
    words = ("status", "fail_code", "fail_reason", "last_error", "result")
    assert _without_ids(foreign, words) == _without_ids(nobodys, words)
    assert tenants.of_theirs() == before


def _without_ids(row: dict[str, object], names: tuple[str, ...]) -> dict[str, object]:
    found = {name: row[name] for name in names}
    if isinstance(error := found["last_error"], dict):
        found["last_error"] = {key: value for key, value in error.items() if key not in {"at", "time"}}
    return found


@pytest.mark.parametrize("job_type", IDS)
def test_a_payload_that_names_another_tenant_is_forbidden(tenants: Tenants, job_type: str) -> None:
    row = tenants.run(job_type, tenant_id=tenants.theirs["tenant_id"])

    assert (row["status"], row["fail_code"]) == ("FAILED", "FORBIDDEN")


@pytest.mark.parametrize("job_type", sorted(set(IDS) - {"INGEST_DOCUMENT", "RUN_RULE_TESTS"}))
def test_a_payload_that_names_its_own_tenant_is_fine(tenants: Tenants, job_type: str) -> None:
    row = tenants.run(job_type, tenant_id=tenants.ours["tenant_id"])

    assert (row["status"], row["fail_code"]) == ("SUCCEEDED", None)
