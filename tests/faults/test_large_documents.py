"""Many large documents and payloads at once: they wait for room, and the worker stays small."""

import os
import time
from base64 import b64encode
from pathlib import Path

from bpc_worker.pipeline.documents import Upload, add_document
from bpc_worker.pipeline.session import PipelineSession
from tests.support.database import Database
from tests.support.pipeline import Pipeline
from tests.support.worker import Worker, until, worker

_MIB = 1024 * 1024
DOCUMENTS, PAYLOADS, ROWS, SIZE = 40, 50, 200_000, 20 * _MIB
MOST_MEMORY = 400 * 1_000_000


def peak(running: Worker) -> int:
    """Bytes of memory that the worker itself has had at most."""
    status = Path(f"/proc/{running.pid}/status").read_text()
    [line] = [each for each in status.splitlines() if each.startswith("VmHWM")]
    return int(line.split()[1]) * 1024


async def send(session: PipelineSession) -> None:
    for number in range(DOCUMENTS):
        # One long text that no parser likes: what is measured is the way of the bytes.
        content = f'{{"number": {number}, "note": "'.encode().ljust(SIZE - 2, b"x") + b'"}'
        await add_document(
            session,
            Upload(
                content=content,
                kind="OTHER",
                mime_type="application/json",
                external_ref=f"{number}.json",
            ),
        )


def test_forty_documents_of_20_mib_at_32_slots(db: Database) -> None:
    db.tenant()
    Pipeline(db).call(send)
    with worker(db.url_as("bpc_worker"), BPC_WORKER_CONCURRENCY=32) as running:
        running.wait_ready()
        until(
            lambda: (
                db.one("SELECT count(*) AS n FROM document_versions WHERE status = 'REJECTED'")["n"]
                == DOCUMENTS
            ),
            within=240,
            what="all documents judged",
            every=0.5,
        )
        most = peak(running)
        assert running.metric("bpc_jobs_retried_total") == 0
    print(f"\n{DOCUMENTS} documents of {SIZE / _MIB:g} MiB at 32 slots: peak {most / 1e6:.0f} MB")

    assert db.run("SELECT FROM jobs WHERE status NOT IN ('SUCCEEDED', 'FAILED')") == []
    assert most <= MOST_MEMORY


def test_fifty_payloads_of_20_mib_at_100_slots(db: Database) -> None:
    """Text that cannot be compressed, as a document in base64 would be."""
    db.tenant()
    for _ in range(PAYLOADS):
        data = b64encode(os.urandom(SIZE * 3 // 4)).decode()
        db.enqueue("TEST_ANY", f'{{"value": "{data}"}}')
    small = [db.enqueue("TEST_NOOP") for _ in range(50)]
    with worker(db.url_as("bpc_worker"), BPC_WORKER_CONCURRENCY=100) as running:
        running.wait_ready()
        began = time.monotonic()
        until(
            lambda: (
                db.one("SELECT count(*) AS n FROM jobs WHERE status = 'SUCCEEDED'")["n"]
                == PAYLOADS + len(small)
            ),
            within=240,
            what="all of them",
            every=0.5,
        )
        took, most = time.monotonic() - began, peak(running)
        assert running.stop() == 0
    print(f"\n{PAYLOADS} payloads of 20 MiB at 100 slots: {took:.0f} s, peak {most / 1e6:.0f} MB")

    assert db.one("SELECT max(attempts) AS most FROM jobs") == {"most": 1}
    assert most <= MOST_MEMORY


def test_a_table_of_200_000_rows_is_facts_after_one_attempt(db: Database) -> None:
    """As many rows as are allowed; one more is refused by the parser."""
    content = "\n".join(["serial;batch", *(f"SN-{number:06};B-{number:06}" for number in range(ROWS))])
    upload = Upload(content=content.encode(), kind="SERIALS", mime_type="text/csv", external_ref="list.csv")
    db.tenant()
    Pipeline(db).call(lambda session: add_document(session, upload))
    with worker(db.url_as("bpc_worker")) as running:
        running.wait_ready()
        began = time.monotonic()
        until(
            lambda: db.run("SELECT FROM document_versions WHERE status <> 'UPLOADED'"),
            within=280,
            what="a verdict",
            every=0.5,
        )
        seconds = time.monotonic() - began
    print(f"\n{ROWS} rows: {seconds:.0f} s")

    [job] = db.run("SELECT status, attempts, result FROM jobs WHERE type = 'PARSE_FACTS'")
    assert (job["status"], job["attempts"]) == ("SUCCEEDED", 1)
    assert db.one("SELECT count(*) AS n FROM fact_sources")["n"] == ROWS
