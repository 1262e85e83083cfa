"""Dead letters by the thousand, and what an operator's commands print."""

import json
import subprocess

from tests.support.database import Database
from tests.support.worker import command

LETTERS = """
INSERT INTO jobs (tenant_id, type, payload, status, attempts, max_attempts, fail_code, fail_reason,
                  last_error, created_at, scheduled_at, started_at, finished_at)
SELECT %(tenant)s, %(type)s, %(payload)s, %(status)s, 1, 1, %(code)s, 'made by a test',
       jsonb_build_object('code', %(code)s::text, 'message', 'made by a test'),
       now() - %(age)s::interval, now() - %(age)s::interval, now() - %(age)s::interval,
       now() - %(age)s::interval + i * interval '1 microsecond'
FROM generate_series(1, %(count)s) AS i
RETURNING job_id
"""


def letters(  # each argument a column that can be chosen by
    db: Database,
    count: int = 1,
    *,
    job_type: str = "TEST_NOOP",
    code: str = "COMMAND_FAILED",
    tenant: str = "acme",
    age: str = "1 hour",
    payload: str = "{}",
    status: str = "DEAD_LETTER",
) -> list[str]:
    """Jobs that died so long ago, one microsecond after another; their ids in that order."""
    params = {
        "tenant": db.tenant(tenant), "type": job_type, "payload": payload, "status": status, "code": code,
        "age": age, "count": count,
    }  # fmt: skip
    return [str(row["job_id"]) for row in db.run(LETTERS, params)]


def kinds(db: Database) -> dict[tuple[str, str], int]:
    """How many jobs of each type and status."""
    rows = db.run("SELECT type, status, count(*) AS n FROM jobs GROUP BY type, status")
    return {(str(row["type"]), str(row["status"])): int(str(row["n"])) for row in rows}


def operate(db: Database, *arguments: str, role: str = "bpc_operator") -> subprocess.CompletedProcess[str]:
    """A command as a login that has just that role."""
    return command(db.url_as(role), *arguments)


def told(ran: subprocess.CompletedProcess[str]) -> list[dict[str, object]]:
    """The JSON lines of a command that went well."""
    assert ran.returncode == 0, ran.stderr
    return [json.loads(line) for line in ran.stdout.splitlines()]
