"""Where the bytes of documents are: in the tenant's blobs, once, and in no job."""

import asyncio
import json
from base64 import b64encode

from bpc_worker.pipeline.builds.start import read_folder, start_build
from bpc_worker.pipeline.documents import Upload, add_document
from tests.support.database import Database
from tests.support.pipeline import EXAMPLE, pipeline
from tests.support.worker import until, worker

_KIB = 1024


async def test_no_job_of_ours_carries_a_document(db: Database) -> None:
    tenant = await asyncio.to_thread(pipeline, db)
    secret = b"part,mass\nsecret-part,1\n"
    upload = Upload(content=secret, kind="BOM", mime_type="text/csv", external_ref="bom.csv")
    await asyncio.to_thread(tenant.call, lambda session: add_document(session, upload))
    folder = read_folder(EXAMPLE, document_bytes=20 * _KIB * _KIB)
    await asyncio.to_thread(tenant.call, lambda session: start_build(session, folder))

    payloads = [dict(row["payload"]) for row in db.run("SELECT payload FROM jobs")]  # type: ignore[call-overload]  # jsonb
    assert len(payloads) == 1 + len(folder.documents)
    assert all("content_base64" not in payload and "path" not in payload for payload in payloads)
    wanted = {upload.sha256.hex(), *(each.sha256.hex() for each in folder.documents)}
    assert {payload["content_sha256"] for payload in payloads} == wanted


def test_base64_of_more_than_256_kib_is_refused_with_what_to_do(db: Database) -> None:
    db.tenant()
    fits, too_long = (
        db.enqueue(
            "INGEST_DOCUMENT",
            json.dumps(
                {
                    "kind": "OTHER",
                    "mime_type": "application/json",
                    "external_ref": f"{size}.json",
                    "content_base64": b64encode(b" " * (size - 2) + b"{}").decode(),
                }
            ),
        )
        for size in (256 * _KIB, 256 * _KIB + 1)
    )
    with worker(db.url_as("bpc_worker")):
        until(lambda: db.job(too_long)["status"] == "FAILED", within=30)
        until(lambda: db.job(fits)["status"] == "SUCCEEDED", within=30)

    error = db.job(too_long)["last_error"]
    assert isinstance(error, dict)
    assert (error["code"], error["attempt"]) == ("PAYLOAD_TOO_LARGE", 1)
    assert "bpc_put_blob" in error["message"]
    assert "content_sha256" in error["message"]
