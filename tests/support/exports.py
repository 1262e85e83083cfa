"""Exports of a signed passport by a worker, and what they leave in the export folder."""

import json
from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

from bpc_worker.domain.exporting import File, Format, Wanted
from bpc_worker.domain.stored import Row
from tests.support.database import Database
from tests.support.signed import Signed
from tests.support.worker import until

BUNDLE = Wanted(format=Format.BUNDLE)


def nowhere(row: Row, files: Sequence[File]) -> None:
    """For what is not to be handed out."""
    raise AssertionError(f"{row.passport_version_id}: {[file.name for file in files]}")


def enqueue_export(signed: Signed, **members: object) -> str:
    payload = {"passport_version_id": str(signed.version), "format": "view"} | members
    return signed.db.enqueue("EXPORT_PASSPORT", json.dumps(payload))


def ended(db: Database, job_id: str, *, within: float = 60) -> dict[str, object]:
    """The job's row, once it is at its end."""
    until(lambda: db.job(job_id)["status"] not in {"QUEUED", "RUNNING"}, within=within, what="the job's end")
    return db.job(job_id)


def files_in(folder: Path) -> dict[str, bytes]:
    """Everything below it, hidden files too, by path."""
    return {str(each.relative_to(folder)): each.read_bytes() for each in folder.rglob("*") if each.is_file()}


def told(db: Database) -> list[object]:
    """What the audit trail says of exports, without the salt of each event."""
    rows = db.run(
        "SELECT payload FROM events WHERE event_type = 'PASSPORT_EXPORTED' ORDER BY aggregate_version"
    )
    return [{name: each for name, each in dict(row["payload"]).items() if name != "salt"} for row in rows]  # type: ignore[call-overload]


def tenant_of(signed: Signed) -> UUID:
    return UUID(str(signed.db.one("SELECT tenant_id FROM tenants")["tenant_id"]))
