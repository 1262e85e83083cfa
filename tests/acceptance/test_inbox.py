"""The producer as a process: what lies in the inbox becomes jobs, and nothing else happens to it."""

import base64
from pathlib import Path

import pytest

from tests.support.database import Database
from tests.support.inbox import TestInbox
from tests.support.worker import until, worker


@pytest.fixture
def inbox(tmp_path: Path, db: Database) -> TestInbox:
    db.tenant("acme")
    root = tmp_path / "inbox"
    root.mkdir()
    return TestInbox(root, db)


def test_a_document_becomes_a_job_and_moves_to_done(inbox: TestInbox) -> None:
    inbox.put("acme/BOM/bom.csv", b"part,mass\n1,2\n")
    with worker(inbox.db.url_as("bpc_producer"), "--role", "producer", **inbox.settings) as producer:
        inbox.wait_for("done/acme/BOM/bom.csv")

        [job] = inbox.jobs()
        assert job["payload"] == {
            "kind": "BOM",
            "mime_type": "text/csv",
            "external_ref": "bom.csv",
            "number_format": None,
            "content_base64": base64.b64encode(b"part,mass\n1,2\n").decode(),
        }
        assert (job["status"], job["priority"]) == ("QUEUED", 2)
        assert producer.metric("bpc_jobs_produced_total", type="INGEST_DOCUMENT", queue="default") == 1
        assert producer.get("/v1/health/ready")[0] == 200
        assert producer.stop(within=10) == 0
    assert inbox.waiting() == set()
