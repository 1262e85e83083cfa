"""Where the bytes of documents are: in the tenant's blobs, once, and in no job."""

import asyncio
import json
from base64 import b64encode

import pytest
from psycopg import errors

from bpc_worker.core.base.hashing import sha256
from bpc_worker.pipeline.builds.folder import read_folder
from bpc_worker.pipeline.builds.start import start_build
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


def put(db: Database, role: str, tenant: str, content: bytes) -> bytes:
    with db.connect(role) as connection, connection.transaction():
        connection.execute("SELECT set_config('bpc.tenant_id', %s, true)", [tenant])
        [row] = connection.execute("SELECT bpc_put_blob(%s) AS hash", [content]).fetchall()
    assert isinstance(row["hash"], bytes)
    return row["hash"]


def seen(db: Database, role: str, tenant: str) -> list[object]:
    with db.connect(role) as connection, connection.transaction():
        connection.execute("SELECT set_config('bpc.tenant_id', %s, true)", [tenant])
        return [row["content"] for row in connection.execute("SELECT content FROM blobs").fetchall()]


@pytest.mark.parametrize("role", ["bpc_producer", "bpc_worker", "bpc_app"])
def test_the_same_bytes_are_one_blob_of_their_tenant_under_their_hash(db: Database, role: str) -> None:
    acme, other = db.tenant(), db.tenant("other")
    assert {put(db, role, acme, b"bytes"), put(db, role, acme, b"bytes")} == {sha256(b"bytes")}
    put(db, role, other, b"theirs")

    assert seen(db, "bpc_app", acme) == [b"bytes"]
    assert seen(db, "bpc_worker", other) == [b"theirs"]


def test_a_blob_needs_a_tenant_and_content_and_the_function(db: Database) -> None:
    acme = db.tenant()
    put(db, "bpc_app", acme, b"bytes")
    with db.connect("bpc_app") as connection:
        with pytest.raises(errors.InvalidParameterValue, match=r"bpc\.tenant_id"):
            connection.execute("SELECT bpc_put_blob('x')")
        connection.execute("SELECT set_config('bpc.tenant_id', %s, false)", [acme])
        with pytest.raises(errors.NullValueNotAllowed):
            connection.execute("SELECT bpc_put_blob(NULL)")
        for statement in (
            "INSERT INTO blobs (tenant_id, sha256, size, content) SELECT bpc_tenant(), sha256('x'), 1, 'x'",
            "UPDATE blobs SET content = 'other'",
            "DELETE FROM blobs",
        ):
            with pytest.raises(errors.InsufficientPrivilege):
                connection.execute(statement.encode())
    with db.connect("bpc_producer") as connection, pytest.raises(errors.InsufficientPrivilege):
        connection.execute("SELECT content FROM blobs")
    for statement in ("UPDATE blobs SET content = 'other', size = 5", "DELETE FROM blobs"):
        with pytest.raises(errors.RestrictViolation):
            db.run(statement)


def test_a_hash_that_is_nobodys_blob_is_refused_and_anothers_is_nobodys(db: Database) -> None:
    db.tenant()
    theirs = put(db, "bpc_app", db.tenant("other"), b"{}").hex()
    said = {"kind": "OTHER", "mime_type": "application/json", "external_ref": "a.json"}
    jobs = [
        db.enqueue("INGEST_DOCUMENT", json.dumps(said | {"content_sha256": digest}))
        for digest in (theirs, "0" * 64)
    ]
    with worker(db.url_as("bpc_worker")):
        for job_id in jobs:
            until(lambda job_id=job_id: db.job(job_id)["status"] == "FAILED", within=30)  # type: ignore[misc]

    assert [db.job(job_id)["fail_code"] for job_id in jobs] == ["NOT_FOUND"] * 2
    assert db.run("SELECT FROM document_versions") == []
