"""Every call that the API's document allows, and many that it does not, made up by schemathesis.

It needs an environment of its own: `make test-api`.
"""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.support.database import Database
from tests.support.manufacturer import SCOPES, Manufacturer, content, data, entries, manifest, multipart, town
from tests.support.serving import serving
from tests.support.worker import worker

ROOT = Path(__file__).parents[2]
CHECKS = (
    "not_a_server_error", "status_code_conformance", "content_type_conformance",
    "response_schema_conformance", "response_headers_conformance", "ignored_auth", "unsupported_method",
)  # fmt: skip
PATIENT = {
    "BPC_HTTP_REQUESTS_PER_SECOND": 100_000, "BPC_HTTP_REQUESTS_BURST": 100_000,
    "BPC_HTTP_TOKEN_REQUESTS_PER_SECOND": 100_000, "BPC_HTTP_TOKEN_REQUESTS_BURST": 100_000,
}  # fmt: skip
EXAMPLES = os.environ.get("BPC_TEST_CALLS", "10")  # of each operation

pytestmark = pytest.mark.skipif(find_spec("schemathesis") is None, reason="`make test-api` has schemathesis")


def test_no_call_is_answered_by_a_bug_or_otherwise_than_the_document_says(
    db: Database, tmp_path: Path
) -> None:
    town(db)
    with (
        worker(db.url_as("bpc_worker"), BPC_JOBS_POLL_INTERVAL_MS=100),
        serving(db.url_as("bpc_web"), "api", **PATIENT) as running,
    ):
        made = Manufacturer.of(db, running, *SCOPES)
        known = os.environ | {
            "SCHEMATHESIS_HOOKS": "tests.calls.hooks",
            "BPC_TEST_IDS": json.dumps(things(made)),
            "PYTHONPATH": str(ROOT),
        }
        program = Path(sys.executable).parent / "schemathesis"
        address = f"http://127.0.0.1:{running.door_port('api')}/openapi.json"
        done = subprocess.run(
            [program, "run", address, "--header", f"Authorization: Bearer {made.token}",
             "--checks", ",".join(CHECKS), "--max-examples", EXAMPLES, "--generation-database", "none",
             "--workers", "1", "--request-timeout", "30", "--seed", "1", "--no-color"],
            cwd=tmp_path, env=known, capture_output=True, text=True, check=False,
        )  # fmt: skip
        bugs = [line for line in running.lines if line.get("msg") in {"request_bug", "request_failed"}]
    assert [line.get("error_message", line) for line in bugs[:3]] == []
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr


def things(made: Manufacturer) -> dict[str, str]:
    """One of each, by what stands before its id in a path."""
    files = [(entry["file"], entry["file"], entry["mime_type"], content(entry)) for entry in entries()]
    told = json.dumps(manifest("HLS-EV78-2027-000417", []) | {"documents": entries()}).encode()
    media_type, body = multipart([("manifest", None, "application/json", told), *files])
    build = data(made.post("/v1/builds", body, media_type=media_type, wait=60))
    assert build["state"] == "DONE", build
    hook = data(made.post("/v1/webhooks", {"url": "https://receiver.example/hook"}))["webhook_endpoint_id"]
    sent = data(made.post(f"/v1/webhooks/{hook}:test"))["webhook_delivery_id"]
    product = data(made.get("/v1/products"))["items"][0]["battery_product_id"]
    return {
        "documents": build["documents"][0]["document_version_id"], "products": product,
        "builds": build["build_id"], "passports": build["passport_id"],
        "versions": build["passport_version_id"], "webhooks": hook, "deliveries": sent,
        "jobs": build["stages"][0]["jobs"][0]["job_id"],
    }  # fmt: skip
