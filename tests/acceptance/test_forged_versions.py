"""Whoever has the worker's login and no key: nothing is signed that its inputs do not give."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import cast
from uuid import UUID

import pytest

from bpc_worker.core.audit.checkpoint import Statement, Taken, Tree
from bpc_worker.core.base import canonical_json
from bpc_worker.core.base.hashing import sha256
from bpc_worker.core.passport.receipt import issuer_of
from bpc_worker.pipeline.replays import replay_version
from bpc_worker.postgres.embedded.server import Server
from tests.support import database as databases
from tests.support.chains import check_chains
from tests.support.forging import (
    Forger,
    Row,
    compile_payload,
    payload_says,
    receipt_says,
    row_says,
    unsigned_rows,
)
from tests.support.lying.sitecustomize import CONSTANTS
from tests.support.pipeline import Pipeline, battery, pipeline, publish
from tests.support.worker import SITE, until, worker

pytestmark = pytest.mark.acceptance

OTHER_HASH = sha256(b"chosen")
LIARS = Path(__file__).parents[1] / "support" / "lying"


@dataclass(frozen=True)
class Others:
    """What a forged row may name: all of it is there."""

    forger: Forger
    tenant_id: UUID
    passport_id: UUID
    unique_identifier: str
    rules: UUID


@dataclass(frozen=True)
class Forged:
    """One forgery, and the job that was to sign it, once it has ended."""

    row: Row
    job: Row
    events: list[Row]


def chosen(row: Row, data: bytes) -> Row:
    return row | {"receipt": data, "receipt_hash": sha256(data)}


def checkpoint() -> bytes:
    """Of a tenant that has lost all of its events but one."""
    statement = Statement(
        taken=Taken(tenant_id=UUID(int=1), taken_at=datetime(2028, 1, 1, tzinfo=UTC), signing_key_id="k"),
        tree=Tree(size=1, root=OTHER_HASH),
        heads_count=1,
        heads_sha256=OTHER_HASH,
    )
    return statement.document()


def payload_with_receipt(row: Row) -> Row:
    forged = payload_says(row, footprint="0.001")
    return receipt_says(forged, payload_hash=cast("bytes", forged["payload_hash"]).hex())


def fields_with_receipt(row: Row) -> Row:
    forged = canonical_json.encode([{"_sd": ["A" * 43], "audiences": ["public"]}])
    return receipt_says(row | {"fields": forged}, fields_sha256=sha256(forged).hex())


def another_id(row: Row, others: Others) -> Row:
    """With a place of its own."""
    version = UUID(int=7)
    place = others.forger.allot(version, issuer_of(row["unique_identifier"]))
    return row | place | {"passport_version_id": version}


def in_another_list(row: Row, others: Others) -> Row:
    """Of an issuer whom nobody asks about this battery; the row is of a moment that has no place yet."""
    moved = row | {"issued_at": datetime(2028, 9, 3, tzinfo=UTC)}
    named = row_says(moved, Elsewhere(others.forger.db), issued_at=moved["issued_at"])
    return receipt_says(named, issued_at="2028-09-03T00:00:00.000000Z")


class Elsewhere(Forger):
    def allot(self, version: UUID, issuer: str) -> Row:
        del issuer
        return super().allot(version, "https://elsewhere.example")


Forge = Callable[[Row, Others], Row]

# What is forged, and the member that tells; None: nothing is, and it is signed.
FORGERIES: dict[str, tuple[Forge, str | None]] = {
    "nothing": (lambda row, _: row, None),
    "a receipt that is none": (lambda row, _: chosen(row, b"x"), "receipt"),
    "a receipt with a member more": (lambda row, _: receipt_says(row, more=1), "receipt"),
    "a checkpoint": (lambda row, _: chosen(row, checkpoint()), "receipt"),
    "a payload": (lambda row, _: payload_says(row, footprint="0.001"), "payload"),
    "a payload with its receipt": (lambda row, _: payload_with_receipt(row), "payload"),
    "a proof": (lambda row, _: row | {"proof": b"{}"}, "proof"),
    "a proof's hash": (
        lambda row, others: row_says(row, others.forger, proof_root_hash=OTHER_HASH),
        "proof_root_hash",
    ),
    "fields of a view": (lambda row, _: fields_with_receipt(row), "fields"),
    "disclosures": (lambda row, _: row | {"disclosures": b"x"}, "disclosures"),
    "a seed": (lambda row, _: row | {"disclosure_seed": bytes(32)}, "payload"),
    "another identifier": (
        lambda row, others: row | {"unique_identifier": others.unique_identifier},
        "unique_identifier",
    ),
    "another place": (
        lambda row, _: row | {"status_idx": (cast("int", row["status_idx"]) + 1) % 2**17},
        "status_list_idx",
    ),
    "no place": (lambda row, _: row | {"passport_version_id": UUID(int=6)}, "status_list_idx"),
    "a place in another's list": (in_another_list, "status_list_uri"),
    "other audiences": (lambda row, _: receipt_says(row, audiences=["public"]), "audiences"),
    "another name of the rules": (lambda row, _: receipt_says(row, rules_name="r"), "rules_name"),
    "a hash in the receipt alone": (
        lambda row, _: receipt_says(row, payload_hash=OTHER_HASH.hex()),
        "payload_hash",
    ),
    "another tenant": (lambda row, others: receipt_says(row, tenant_id=str(others.tenant_id)), "tenant_id"),
    "another passport": (
        lambda row, others: row_says(
            row,
            others.forger,
            passport_id=others.passport_id,
            unique_identifier=others.unique_identifier,
        ),
        "unique_identifier",
    ),
    "another passport in the receipt": (
        lambda row, others: receipt_says(row, passport_id=str(others.passport_id)),
        "passport_id",
    ),
    "other rules": (
        lambda row, others: row_says(row, others.forger, rule_package_version_id=others.rules),
        "payload",
    ),
    "another text of the rules": (
        lambda row, _: receipt_says(row, dsl_sha256=sha256(CONSTANTS.encode()).hex()),
        "dsl_sha256",
    ),
    "another snapshot's hash": (
        lambda row, _: receipt_says(row, snapshot_hash=OTHER_HASH.hex()),
        "snapshot_hash",
    ),
    "another day": (lambda row, _: row | {"law_date": "2029-01-01"}, "passport_version_id"),
    "another id": (another_id, "passport_version_id"),
    "another compiler": (
        lambda row, others: row_says(row, others.forger, compiler_build_id="bpc-core-0"),
        "compiler_build_id",
    ),
    "another key": (lambda row, _: receipt_says(row, signing_key_id="another"), "signing_key_id"),
}
REFUSED = [name for name, (_, member) in FORGERIES.items() if member is not None]


@pytest.fixture(scope="module")
def path(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipeline]:
    """Two batteries of one tenant, one of another, all signed."""
    with databases.database(server) as db:
        ours, theirs = pipeline(db), pipeline(db, "other")
        folder = battery(tmp_path_factory.mktemp("battery") / "second", "S-2")
        builds = [(ours, ours.build()), (ours, ours.build(folder)), (theirs, theirs.build())]
        with worker(db.url_as("bpc_worker")):
            for each, build in builds:
                assert each.ended(build, within=120).state == "DONE"
        yield ours


@pytest.fixture(scope="module")
def build(path: Pipeline) -> UUID:
    row = path.db.one(
        "SELECT b.build_id FROM passport_builds b JOIN passports USING (passport_id)"
        " WHERE serial <> 'S-2' AND b.tenant_id = %s",
        [path.db.tenant()],
    )
    return UUID(str(row["build_id"]))


@pytest.fixture(scope="module")
def others(path: Pipeline) -> Others:
    second = path.db.one("SELECT passport_id, unique_identifier FROM passports WHERE serial = 'S-2'")
    return Others(
        forger=Forger(path.db),
        tenant_id=UUID(path.db.tenant("other")),
        passport_id=UUID(str(second["passport_id"])),
        unique_identifier=str(second["unique_identifier"]),
        rules=publish(path, "constants", CONSTANTS),
    )


@pytest.fixture(scope="module")
def forged(path: Pipeline, build: UUID, others: Others) -> dict[str, Forged]:
    """Every forgery beside its job, after a worker with the key has had them all."""
    db, forger = path.db, Forger(path.db)
    rows, jobs = {}, {}
    for (name, (forge, _)), row in zip(
        FORGERIES.items(), unsigned_rows(path, build, len(FORGERIES)), strict=True
    ):
        rows[name] = forge(row, others)
        forger.insert("passport_versions", rows[name])
        version = str(rows[name]["passport_version_id"])
        jobs[name] = forger.queue("SIGN_PASSPORT", {"passport_version_id": version})
    with worker(db.url_as("bpc_worker")) as running:
        until(lambda: not db.run("SELECT FROM jobs WHERE status IN ('QUEUED', 'RUNNING')"), within=60)
        counted = running.metric("bpc_signings_total", result="RECEIPT_MISMATCH")
    found = {name: Forged(rows[name], db.job(jobs[name]), told(db, rows[name])) for name in FORGERIES}
    refused = [each for each in found.values() if each.job["fail_code"] == "RECEIPT_MISMATCH"]
    assert counted == len(refused)
    return found


def told(db: databases.Database, row: Row) -> list[Row]:
    return db.run(
        "SELECT event_type, payload FROM events WHERE payload->>'passport_version_id' = %s"
        " AND event_type <> 'PASSPORT_COMPILED' ORDER BY aggregate_version",
        [str(row["passport_version_id"])],
    )


def stored(db: databases.Database, row: Row) -> Row:
    return db.one(
        "SELECT status, signature FROM passport_versions WHERE passport_version_id = %s",
        [row["passport_version_id"]],
    )


@pytest.mark.parametrize("name", REFUSED)
def test_a_forged_row_is_refused_by_the_member_that_tells(
    path: Pipeline, forged: dict[str, Forged], name: str
) -> None:
    found, member = forged[name], FORGERIES[name][1]

    assert stored(path.db, found.row) == {"status": "COMPILING", "signature": None}
    job = found.job
    assert (job["status"], job["fail_code"], job["attempts"]) == ("FAILED", "RECEIPT_MISMATCH", 1)
    assert str(job["fail_reason"]).startswith(f"{member}: ")
    assert cast("Row", job["last_error"])["detail"] == {"member": member}
    [event] = found.events
    assert event["event_type"] == "SIGNING_REFUSED"
    payload = cast("Row", event["payload"])
    assert (payload["code"], payload["member"]) == ("RECEIPT_MISMATCH", member)


def test_a_row_that_its_inputs_give_is_signed_whoever_wrote_it(
    path: Pipeline, forged: dict[str, Forged]
) -> None:
    version = str(forged["nothing"].row["passport_version_id"])

    assert forged["nothing"].job["status"] == "SUCCEEDED"
    assert path.call(lambda pipeline: replay_version(pipeline, version)).part is None
    check_chains(path.db)


def test_a_snapshot_that_no_event_seals_is_refused(path: Pipeline, build: UUID) -> None:
    """Of true facts, and sealed as it should be: but nobody has told of it."""
    db = path.db
    former = db.one(
        "SELECT snapshot_id, canonical FROM data_snapshots JOIN passport_builds USING (snapshot_id)"
        " WHERE build_id = %s",
        [build],
    )
    made = UUID(int=8)
    forger = Forger(db)
    forger.insert("data_snapshots", {"tenant_id": db.tenant(), "snapshot_id": made})
    with forger.session() as connection:
        connection.execute(
            "INSERT INTO snapshot_items (tenant_id, snapshot_id, fact_id)"
            " SELECT tenant_id, %s, fact_id FROM snapshot_items WHERE snapshot_id = %s",
            [made, former["snapshot_id"]],
        )
    canonical = cast("bytes", former["canonical"]).replace(
        str(former["snapshot_id"]).encode(), str(made).encode()
    )
    forger.run(
        "UPDATE data_snapshots SET status = 'SEALED', canonical = %s, snapshot_hash = %s"
        " WHERE snapshot_id = %s",
        [canonical, sha256(canonical), made],
    )
    refused(path, build, snapshot_id=str(made), member="snapshot_hash")


def test_rules_that_no_event_publishes_are_refused(path: Pipeline, build: UUID) -> None:
    db = path.db
    source = 'field identity.chemistry: Text for public = "anything";'
    draft = db.one(
        "WITH package AS (INSERT INTO rule_packages (tenant_id, name) VALUES (%s, 'drafts')"
        " RETURNING tenant_id, rule_package_id)"
        " INSERT INTO rule_package_versions"
        " (tenant_id, rule_package_id, version, dsl, dsl_sha256, tests_sha256)"
        " SELECT tenant_id, rule_package_id, 1, %s, %s, %s FROM package RETURNING rule_package_version_id",
        [db.tenant(), source, sha256(source.encode()), sha256(b"")],
    )["rule_package_version_id"]
    forger = Forger(db)
    run = {"tenant_id": db.tenant(), "rule_package_version_id": draft, "job_id": UUID(int=9)}
    forger.insert("rule_tests_runs", run | {"seed": 0, "cases": 500, "passed": True, "report": "[]"})
    for status in ("VALIDATED", "PUBLISHED"):
        statement = "UPDATE rule_package_versions SET status = %s WHERE rule_package_version_id = %s"
        forger.run(statement, [status, draft])
    refused(path, build, rule_package_version_id=str(draft), member="dsl_sha256")


def refused(path: Pipeline, build: UUID, *, member: str, **changed: object) -> None:
    """A compilation of these inputs comes to its end, and its signature does not."""
    db = path.db
    job = Forger(db).queue("COMPILE_PASSPORT", compile_payload(db, build) | changed)
    with worker(db.url_as("bpc_worker")):
        until(lambda: not db.run("SELECT FROM jobs WHERE status IN ('QUEUED', 'RUNNING')"), within=60)
    assert db.job(job)["status"] == "SUCCEEDED"
    sign = db.one("SELECT * FROM jobs WHERE type = 'SIGN_PASSPORT' AND parent_job_id = %s", [job])
    assert (sign["status"], sign["fail_code"]) == ("FAILED", "RECEIPT_MISMATCH")
    assert cast("Row", sign["last_error"])["detail"] == {"member": member}


@pytest.mark.parametrize("task", ["handlers.compile_passport:COMPILE", "handlers.sign_passport:RECOMPILE"])
def test_a_child_that_answers_with_constants_is_caught(db: databases.Database, task: str) -> None:
    """Its payload, proof and receipt agree, and the proof verifies: only the other child's answer tells."""
    path = pipeline(db)
    build = path.build()
    lying = {"PYTHONPATH": f"{LIARS}:{SITE}", "LYING_TASK": task}
    with worker(db.url_as("bpc_worker"), **lying):
        state = path.ended(build)

    assert state.state == "STOPPED"
    sign = db.one("SELECT * FROM jobs WHERE type = 'SIGN_PASSPORT'")
    assert (sign["fail_code"], cast("Row", sign["last_error"])["detail"]) == (
        "RECEIPT_MISMATCH",
        {"member": "payload"},
    )
    assert db.one("SELECT signature FROM passport_versions") == {"signature": None}
