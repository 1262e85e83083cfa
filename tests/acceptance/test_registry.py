"""Files for the EU registry, and its proofs: recorded where they name the bytes that everybody may have."""

import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from bpc_worker.pipeline.operators import Told, add_operator
from bpc_worker.pipeline.products import ProductData, add_product
from bpc_worker.postgres.embedded.server import Server
from tests.support import database as databases
from tests.support.pipeline import pipeline
from tests.support.signed import Signed
from tests.support.worker import command, worker

LEI = "529900T8BM49AURSDO55"
PRODUCT = ProductData(
    identifier="urn:example:helios:ev78",
    name="Helios EV 78",
    model_identifier="https://helios.example/ev78",
    commodity_code="850760",
    operator="Helios",
)


@pytest.fixture(scope="module")
def signed(server: Server) -> Iterator[Signed]:
    with databases.database(server) as db:
        path = pipeline(db)
        path.call(lambda session: add_operator(session, "Helios", Told(identifiers={"LEI": LEI})))
        path.call(lambda session: add_product(session, PRODUCT))
        build = path.build()
        with worker(db.url_as("bpc_worker")):
            state = path.ended(build)
        assert state.passport_version_id is not None, state.errors
        yield Signed(path, state.passport_version_id)


def run(signed: Signed, *arguments: str) -> CompletedProcess[str]:
    return command(signed.db.url_as("bpc_app"), *arguments, "--tenant", "acme")


def proof(path: Path, told: dict[str, str]) -> str:
    path.write_text(json.dumps({"registrations": [told]}))
    return str(path)


def test_from_the_file_to_the_recorded_proof(signed: Signed, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    early = run(signed, "registry", "file", str(signed.version), "--out", str(out))
    assert early.returncode != 0
    assert "its version is SIGNED, not ACTIVE" in early.stderr

    signed.db.run("UPDATE passport_versions SET status = 'ACTIVE'")
    due = run(signed, "registry", "file", "--out", str(out))
    view = run(signed, "passport", "export", str(signed.version), "--audience", "public", "--out", str(out))
    assert due.returncode == view.returncode == 0, due.stderr + view.stderr
    [request] = json.loads((out / "registration-001.json").read_text())["requests"]
    assert request["operator_identifier"] == f"LEI:{LEI}"
    assert (request["model_identifier"], request["commodity_code"]) == (PRODUCT.model_identifier, "850760")
    assert request["public_view_sha256"] == sha256(Path(view.stdout.strip()).read_bytes()).hexdigest()

    told = {
        "unique_identifier": request["unique_identifier"],
        "registration_id": "REG-2027-1",
        "registered_at": "2027-02-18T12:00:00Z",
        "passport_sha256": request["public_view_sha256"],
    }
    foreign = proof(tmp_path / "other.json", told | {"passport_sha256": "ab" * 32})
    refused = run(signed, "registry", "record", foreign)
    assert refused.returncode != 0
    assert "the proof is of other bytes" in refused.stderr

    first, again = (run(signed, "registry", "record", proof(tmp_path / "p.json", told)) for _ in range(2))
    assert first.returncode == again.returncode == 0, first.stderr
    assert "REG-2027-1" in first.stdout
    assert "1 registration of these was known already" in again.stderr
    events = signed.db.one("SELECT count(*) FROM events WHERE event_type = 'PASSPORT_REGISTERED'")
    assert events["count"] == 1
    assert "0 requests" in run(signed, "registry", "file", "--out", str(out)).stderr
