"""Questions to the recorded history of a job, and to the clock of its database."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import cast

from tests.support.database import Database

Row = Mapping[str, object]


def now(db: Database) -> datetime:
    return cast("datetime", db.one("SELECT clock_timestamp() AS now")["now"])


def moment(row: Row, name: str) -> datetime:
    value = row[name]
    return value if isinstance(value, datetime) else datetime.fromisoformat(cast("str", value))


def seconds(span: timedelta) -> float:
    return span.total_seconds()


@dataclass(frozen=True, slots=True)
class Tenure:
    """One claim of a job, from the claim to its end; `settled` is None while it lasts."""

    claimed: Row
    beats: Sequence[datetime]  # the claim's own heartbeat first
    ended: Row | None
    txid: int

    @property
    def owner(self) -> str:
        return str(self.claimed["lease_owner"])

    @property
    def started_at(self) -> datetime:
        return moment(self.claimed, "started_at")

    @property
    def longest_gap(self) -> float:
        """Between two signs of life, the end of the job being the last."""
        signs = [*self.beats]
        if self.ended is not None and self.ended["finished_at"] is not None:
            signs.append(moment(self.ended, "finished_at"))
        return max((seconds(later - earlier) for earlier, later in zip(signs, signs[1:], strict=False)), default=0.0)


def tenures(db: Database, job_id: str) -> list[Tenure]:
    """Every claim of the job, in order."""
    found: list[Tenure] = []
    changes = db.run(
        "SELECT old, new, txid FROM job_history WHERE job_id = %s AND op = 'UPDATE' ORDER BY seq", [job_id]
    )
    claimed: Row | None = None
    beats: list[datetime] = []
    txid = 0
    for change in changes:
        old, new = cast("Row", change["old"]), cast("Row", change["new"])
        match (old["status"], new["status"]):
            case ("QUEUED", "RUNNING"):
                claimed, beats, txid = new, [moment(new, "last_heartbeat_at")], cast("int", change["txid"])
            case ("RUNNING", "RUNNING"):
                beats.append(moment(new, "last_heartbeat_at"))
            case ("RUNNING", _) if claimed is not None:
                found.append(Tenure(claimed, beats, new, txid))
                claimed = None
    if claimed is not None:
        found.append(Tenure(claimed, beats, None, txid))
    return found


def lease_ends(db: Database, job_id: str) -> datetime:
    """When the lease of the job's last reaped claim ended, as stored."""
    row = db.one(
        "SELECT old ->> 'lease_expires_at' AS ended FROM job_history"
        " WHERE job_id = %s AND old ->> 'status' = 'RUNNING' AND new ->> 'fail_code' = 'LEASE_EXPIRED'"
        " AND new ->> 'status' <> 'RUNNING' ORDER BY seq DESC LIMIT 1",
        [job_id],
    )
    return moment(row, "ended")


def events(db: Database, job_id: str) -> list[Row]:
    """Type, time and data of each event, in order."""
    return [*db.run("SELECT type, at, data FROM job_events WHERE job_id = %s ORDER BY job_event_id", [job_id])]
