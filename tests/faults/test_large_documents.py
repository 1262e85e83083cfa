"""Many large documents at once: they wait for room, and the worker stays small."""

from pathlib import Path

from bpc_worker.pipeline.documents import Upload, add_document
from bpc_worker.pipeline.session import PipelineSession
from tests.support.database import Database
from tests.support.pipeline import Pipeline
from tests.support.worker import Worker, until, worker

_MIB = 1024 * 1024
DOCUMENTS, SIZE = 40, 20 * _MIB
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
