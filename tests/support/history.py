"""Questions to the recorded history of jobs, and to the clock of their database."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from typing import cast

from tests.support.database import Database

Row = Mapping[str, object]
NEVER = datetime.max.replace(tzinfo=UTC)


def now(db: Database) -> datetime:
    return moment(db.one("SELECT clock_timestamp() AS now"), "now")


def moment(row: Row, name: str) -> datetime:
    """A time, from a column or from a row that was stored as JSON."""
    value = row[name]
    return value if isinstance(value, datetime) else datetime.fromisoformat(cast("str", value))


def span(earlier: datetime, later: datetime) -> float:
    return (later - earlier).total_seconds()


@dataclass(slots=True)
class Tenure:
    """One claim of a job, from its beginning to its end; `ended` is None while it lasts."""

    claimed: Row
    transaction: int
    beats: list[datetime] = field(default_factory=list)  # the claim itself is the first
    lease_expires_at: datetime = NEVER
    ended: Row | None = None
    ended_at: datetime = NEVER

    @property
    def owner(self) -> str:
        return str(self.claimed["lease_owner"])

    @property
    def started_at(self) -> datetime:
        return moment(self.claimed, "started_at")

    @property
    def of_suspect(self) -> bool:
        return self.claimed["fail_code"] == "LEASE_EXPIRED" and cast("int", self.claimed["attempts"]) > 2

    @property
    def longest_gap(self) -> float:
        """Between two signs of life, the end being the last."""
        signs = [*self.beats, *([self.ended_at] if self.ended is not None else [])]
        return max((span(*pair) for pair in pairwise(signs)), default=0.0)


def tenures(db: Database, job_id: str) -> list[Tenure]:
    """Every claim of the job, in order."""
    found: list[Tenure] = []
    changes = db.run(
        "SELECT at, txid, old, new FROM job_history WHERE job_id = %s AND op = 'UPDATE' ORDER BY seq",
        [job_id],
    )
    for change in changes:
        old, new = cast("Row", change["old"]), cast("Row", change["new"])
        if (old["status"], new["status"]) == ("QUEUED", "RUNNING"):
            found.append(Tenure(new, cast("int", change["txid"])))
        if new["status"] == "RUNNING":
            found[-1].beats.append(moment(new, "last_heartbeat_at"))
            found[-1].lease_expires_at = moment(new, "lease_expires_at")
        elif old["status"] == "RUNNING":
            found[-1].ended, found[-1].ended_at = new, moment(change, "at")
    return found


def events(db: Database, job_id: str) -> list[Row]:
    """Type, time and data of each event, in order."""
    return [
        *db.run("SELECT type, at, data FROM job_events WHERE job_id = %s ORDER BY job_event_id", [job_id])
    ]


def statuses(db: Database) -> dict[str, int]:
    """How many jobs there are of each status, without those that tell of a dead letter."""
    rows = db.run("SELECT status, count(*) AS n FROM jobs WHERE type <> 'RECORD_DEAD_LETTER' GROUP BY status")
    return {str(row["status"]): cast("int", row["n"]) for row in rows}


def told(db: Database) -> bool:
    """Whether every dead letter has been told: whoever ends a worker sooner ends the telling too."""
    left = "SELECT FROM jobs WHERE type = 'RECORD_DEAD_LETTER' AND status IN ('QUEUED', 'RUNNING')"
    return not db.run(left)


def effects(db: Database) -> list[tuple[str, int, int]]:
    """Key, attempt and process of everything that TEST_EFFECT has written."""
    rows = db.run("SELECT key, attempt, pid FROM test_effects ORDER BY at")
    return [(str(row["key"]), cast("int", row["attempt"]), cast("int", row["pid"])) for row in rows]
