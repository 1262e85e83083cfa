"""An audit trail to damage: chains of events, and the hands of whoever has the server."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

import psycopg

from bpc_worker.domain.events import Happened
from bpc_worker.pipeline.audit.checkpoints import read_checkpoint, write_checkpoint
from bpc_worker.pipeline.audit.findings import Report
from bpc_worker.pipeline.audit.verify import verify
from bpc_worker.pipeline.session import PipelineSession
from tests.support.database import Database
from tests.support.pipeline import Pipeline


def append(path: Pipeline, chain: UUID, count: int = 3) -> UUID:
    async def work(pipeline: PipelineSession) -> None:
        async with pipeline.transaction() as tx:
            for number in range(count):
                happened = Happened(
                    event_type="PASSPORT_SIGNED",
                    aggregate_type="passport",
                    aggregate_id=chain,
                    payload={"n": number, "text": "ä"},
                )
                await pipeline.record(tx, happened)

    path.call(work)
    return chain


def verified(path: Pipeline, kept: bytes | None = None) -> Report:
    async def work(pipeline: PipelineSession) -> Report:
        against = None if kept is None else read_checkpoint(io.BytesIO(kept))
        return await verify(pipeline, against)

    return path.call(work)


def checkpoint(path: Pipeline) -> bytes:
    file = io.BytesIO()
    path.call(lambda pipeline: write_checkpoint(pipeline, file))
    return file.getvalue()


def named(report: Report) -> dict[UUID, list[tuple[int, str]]]:
    found: dict[UUID, list[tuple[int, str]]] = {}
    for finding in report.findings:
        found.setdefault(finding.aggregate_id, []).append((finding.aggregate_version, finding.flaw))
    return found


@contextmanager
def intruder(db: Database) -> Iterator[psycopg.Connection[dict[str, object]]]:
    """Whoever has the server: no trigger stops him."""
    with db.connect() as connection:
        connection.execute("SET session_replication_role = replica")
        yield connection


def delete(db: Database, table: str, chain: UUID, where: str = "true") -> None:
    with intruder(db) as connection:
        statement = f"DELETE FROM {table} WHERE aggregate_id = %s AND {where}"
        assert connection.execute(statement.encode(), [chain]).rowcount


def move_head_back(db: Database, chain: UUID) -> None:
    with intruder(db) as connection:
        connection.execute(
            "UPDATE event_heads h SET aggregate_version = e.aggregate_version, event_hash = e.event_hash"
            " FROM events e WHERE h.aggregate_id = %s AND e.aggregate_id = h.aggregate_id"
            " AND e.aggregate_version = (SELECT max(aggregate_version) FROM events WHERE aggregate_id = %s)",
            [chain, chain],
        )
