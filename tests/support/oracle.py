"""The history oracle: a trigger records every change of every job row; assertions over that history."""

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime
from typing import LiteralString, NamedTuple, cast

import psycopg

INSTALL: LiteralString = """
CREATE TABLE job_history (
  seq    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  txid   bigint NOT NULL DEFAULT txid_current(),
  job_id uuid NOT NULL,
  op     text NOT NULL,
  old    jsonb,
  new    jsonb
);
CREATE FUNCTION record_job_history() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  INSERT INTO job_history (job_id, op, old, new)
  VALUES (coalesce(NEW.job_id, OLD.job_id), TG_OP,
          CASE WHEN TG_OP <> 'INSERT' THEN to_jsonb(OLD) - 'payload' END,
          CASE WHEN TG_OP <> 'DELETE' THEN to_jsonb(NEW) - 'payload' END);
  RETURN NULL;
END $$;
CREATE TRIGGER record_history AFTER INSERT OR UPDATE OR DELETE ON jobs
FOR EACH ROW EXECUTE FUNCTION record_job_history();
"""

# (from, to): every edge a job may take. QUEUED -> QUEUED and RUNNING -> RUNNING are judged separately.
EDGES = frozenset(
    {
        ("QUEUED", "RUNNING"),
        ("QUEUED", "CANCELLED"),
        ("RUNNING", "SUCCEEDED"),
        ("RUNNING", "FAILED"),
        ("RUNNING", "DEAD_LETTER"),
        ("RUNNING", "CANCELLED"),
        ("RUNNING", "QUEUED"),
        ("DEAD_LETTER", "QUEUED"),
        ("DEAD_LETTER", "CANCELLED"),
        ("FAILED", "QUEUED"),
        ("FAILED", "CANCELLED"),
    }
)
ENDED = frozenset({"SUCCEEDED", "FAILED", "CANCELLED", "DEAD_LETTER"})

Row = Mapping[str, object]


class Change(NamedTuple):
    seq: int
    at: datetime
    job_id: str
    op: str
    old: Row | None
    new: Row | None


def install(connection: psycopg.Connection) -> None:
    connection.execute(INSTALL)


def check(connection: psycopg.Connection[dict[str, object]], *, nothing_left: bool = True) -> None:
    """Raise AssertionError with every broken rule, the job and the place in its history."""
    rows = connection.execute("SELECT seq, at, job_id, op, old, new FROM job_history ORDER BY seq").fetchall()
    by_job: dict[str, list[Change]] = defaultdict(list)
    for row in rows:
        change = Change(*cast("tuple[int, datetime, str, str, Row, Row]", tuple(row.values())))
        by_job[str(change.job_id)].append(change)
    assert by_job, "no history was recorded: the oracle saw nothing"
    broken = [problem for changes in by_job.values() for problem in problems(changes)]
    if nothing_left:
        broken += left_behind(by_job)
    assert not broken, "\n".join(["the history breaks its rules:", *broken[:20]])


def problems(changes: list[Change]) -> list[str]:
    """What is wrong in one job's history."""
    found = []
    completed: set[object] = set()
    for change in changes:
        if change.op != "UPDATE" or change.old is None or change.new is None:
            continue
        found += [
            f"job {change.job_id} #{change.seq}: {problem}"
            for problem in _of_update(change.old, change.new, completed)
        ]
    return found


def _of_update(old: Row, new: Row, completed: set[object]) -> list[str]:
    edge = (old["status"], new["status"])
    if _count(new, "attempts") > _count(new, "max_attempts"):
        return [f"attempts {new['attempts']} above max_attempts {new['max_attempts']}"]
    if edge == ("RUNNING", "RUNNING"):
        return _of_renewal(old, new)
    if edge == ("QUEUED", "QUEUED"):
        return [] if old["lease_token"] == new["lease_token"] else ["a waiting job changed its token"]
    if edge not in EDGES:
        return [f"illegal edge {edge[0]} -> {edge[1]}"]
    if edge == ("QUEUED", "RUNNING"):
        return _of_claim(old, new)
    if old["status"] == "RUNNING":
        return _of_settle(old, new, completed)
    return [] if new["lease_owner"] is None else ["a lease without a claim"]


def _of_claim(old: Row, new: Row) -> list[str]:
    found = []
    if _count(new, "attempts") != _count(old, "attempts") + 1:
        found.append(f"a claim took attempts from {old['attempts']} to {new['attempts']}")
    if new["lease_token"] is None or new["lease_token"] == old["lease_token"]:
        found.append("a claim without a fresh token")
    if not new["lease_owner"] or not new["lease_expires_at"]:
        found.append("a claim without a lease")
    return found


def _of_renewal(old: Row, new: Row) -> list[str]:
    found = []
    if old["lease_token"] != new["lease_token"]:
        found.append("a running job changed its token")
    if old["attempts"] != new["attempts"]:
        found.append("a running job changed its attempts")
    before, after = _time(old, "lease_expires_at"), _time(new, "lease_expires_at")
    if after < before:
        found.append(f"a renewal moved the lease back from {before} to {after}")
    beat = _time(new, "last_heartbeat_at")
    if after != before and beat >= before:
        found.append(f"a renewal at {beat} revived a lease that had ended at {before}")
    return found


def _of_settle(old: Row, new: Row, completed: set[object]) -> list[str]:
    found = []
    refund = _count(old, "attempts") - _count(new, "attempts")
    if refund not in {0, 1} or (refund == 1 and new["status"] not in {"QUEUED", "CANCELLED", "DEAD_LETTER"}):
        found.append(f"attempts went from {old['attempts']} to {new['attempts']} on {new['status']}")
    if new["lease_owner"] is not None or new["lease_expires_at"] is not None:
        found.append("a settled job kept its lease")
    if new["lease_token"] not in {None, old["lease_token"]}:
        found.append("a settle changed the token")
    if old["lease_token"] in completed:
        found.append("a second completion under one token")
    completed.add(old["lease_token"])
    return found


def left_behind(by_job: Mapping[str, list[Change]]) -> list[str]:
    """Jobs that did not come to an end; what a death left to be told may wait for the next worker."""
    last = {job_id: changes[-1].new for job_id, changes in by_job.items()}
    return [
        f"job {job_id} was left {row['status']}"
        for job_id, row in last.items()
        if row is not None and row["status"] not in ENDED and not _waits_to_be_told(row)
    ]


def _waits_to_be_told(row: Row) -> bool:
    return row["status"] == "QUEUED" and row.get("type") == "RECORD_DEAD_LETTER"


def _count(row: Row, name: str) -> int:
    return cast("int", row[name])


def _time(row: Row, name: str) -> datetime:
    return datetime.fromisoformat(cast("str", row[name]))
