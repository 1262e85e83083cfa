"""Every call that the API's document allows, and many that it does not, made up by schemathesis.

It needs an environment of its own: `make test-api`.
"""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.support.database import Database
from tests.support.manufacturer import SCOPES, town
from tests.support.serving import serving, token
from tests.support.worker import worker

CHECKS = (
    "not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance",
    "response_headers_conformance", "ignored_auth", "unsupported_method",
)  # fmt: skip
PATIENT = {
    "BPC_HTTP_REQUESTS_PER_SECOND": 100_000, "BPC_HTTP_REQUESTS_BURST": 100_000,
    "BPC_HTTP_TOKEN_REQUESTS_PER_SECOND": 100_000, "BPC_HTTP_TOKEN_REQUESTS_BURST": 100_000,
}  # fmt: skip
EXAMPLES = os.environ.get("BPC_TEST_CALLS", "20")  # of each operation

pytestmark = pytest.mark.skipif(find_spec("schemathesis") is None, reason="`make test-api` has schemathesis")


def test_no_call_is_answered_by_a_bug_or_otherwise_than_the_document_says(
    db: Database, tmp_path: Path
) -> None:
    town(db)
    with (
        worker(db.url_as("bpc_worker"), BPC_JOBS_POLL_INTERVAL_MS=100),
        serving(db.url_as("bpc_web"), "api", **PATIENT) as running,
    ):
        secret = token(db, *SCOPES, tenant=str(db.tenant("acme")))
        program = Path(sys.executable).parent / "schemathesis"
        address = f"http://127.0.0.1:{running.door_port('api')}/openapi.json"
        done = subprocess.run(
            [program, "run", address, "--header", f"Authorization: Bearer {secret}",
             "--checks", ",".join(CHECKS), "--max-examples", EXAMPLES, "--generation-database", "none",
             "--workers", "1", "--request-timeout", "30", "--seed", "1", "--no-color"],
            cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
        bugs = [line for line in running.lines if line.get("msg") == "request_bug"]
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr
    assert bugs == []
