"""A job that kills every process that runs it, and what must become of it and of its neighbours."""

import signal

from tests.support.database import Database
from tests.support.history import Tenure, tenures


def feed(db: Database, count: int, *, priority: int) -> None:
    """Jobs of 0.1 to 0.3 seconds, so that the slots of a busy worker get free one by one."""
    db.run(
        "INSERT INTO jobs (tenant_id, type, payload, priority)"
        " SELECT %s, 'TEST_SLEEP', jsonb_build_object('seconds', 0.1 + n %% 10 * 0.02), %s"
        " FROM generate_series(1, %s) AS n",
        [db.tenant(), priority, count],
    )


def enqueue_suspects(db: Database, count: int, *, seconds: float, due_for: float = 0) -> list[str]:
    """Jobs whose workers have died twice, innocent all of them, and due for so many seconds."""
    rows = db.run(
        "INSERT INTO jobs (tenant_id, type, payload, attempts, fail_code, scheduled_at)"
        " SELECT %s, 'TEST_EFFECT', jsonb_build_object('key', 'suspect ' || n, 'seconds', %s::float8), 2,"
        " 'LEASE_EXPIRED', now() - make_interval(secs => %s) FROM generate_series(1, %s) AS n"
        " RETURNING job_id",
        [db.tenant(), seconds, due_for, count],
    )
    return [str(row["job_id"]) for row in rows]


def check_poison(db: Database, poison: str, exits: list[int]) -> None:
    """Two workers died of it and three processes apart, each is named in an event; nobody tried again."""
    claims = tenures(db, poison)
    job = db.job(poison)
    owners = db.run(
        "SELECT data #>> '{details,locked_by}' AS owner FROM job_events WHERE job_id = %s"
        " ORDER BY job_event_id",
        [poison],
    )

    assert exits == [-signal.SIGKILL] * 2
    assert (job["status"], job["fail_code"], job["attempts"]) == ("DEAD_LETTER", "LEASE_EXPIRED", 5)
    assert len(claims) == 5
    assert db.events(poison) == ["reaper:requeued"] * 4 + ["reaper:dead_lettered"]
    assert [row["owner"] for row in owners] == [claim.owner for claim in claims]
    assert len({claim.owner for claim in claims}) == 5
    assert ["-suspects-" in claim.owner for claim in claims] == [False] * 2 + [True] * 3


def check_neighbours(db: Database, job_ids: list[str]) -> None:
    """They died with it while it was no suspect yet, never after, and all of them succeeded."""
    jobs = [db.job(job_id) for job_id in job_ids]

    assert {job["status"] for job in jobs} == {"SUCCEEDED"}
    assert max(int(str(job["attempts"])) for job in jobs) <= 3
    assert any(int(str(job["attempts"])) > 1 for job in jobs), "nobody ran beside it: the test showed nothing"


def check_suspects_were_alone(db: Database) -> int:
    """No process held anything beside a suspect; how many claims of suspects there were."""
    rows = db.run(  # of thousands, those that were suspect or ran where suspects do
        "SELECT DISTINCT job_id FROM job_history WHERE new ->> 'fail_code' = 'LEASE_EXPIRED'"
        " OR new ->> 'lease_owner' LIKE '%%-suspects-%%'",
        [],
    )
    claims = [claim for row in rows for claim in tenures(db, str(row["job_id"]))]
    suspects = [claim for claim in claims if claim.of_suspect]
    for suspect in suspects:
        beside = [claim for claim in claims if claim is not suspect and _overlap(claim, suspect)]
        assert not beside, f"claimed beside a suspect: {beside}"
        assert "-suspects-" in suspect.owner
    return len(suspects)


def _overlap(one: Tenure, other: Tenure) -> bool:
    same = one.owner == other.owner
    return same and one.started_at < other.ended_at and other.started_at < one.ended_at
