"""A schedule for every minute, a tick that was missed, and the jobs that came of ticks."""

import json

from tests.support.database import Database

MINUTELY = {"BPC_SCHEDULES": json.dumps({"often": {"cron": "* * * * *", "type": "TEST_NOOP"}})}
LAST_TICK = (
    "INSERT INTO schedule_ticks (name, tick)"
    " VALUES ('often', date_trunc('minute', now()) - interval '5 minutes')"
)


def keys(db: Database) -> list[str]:
    rows = db.run("SELECT idempotency_key FROM jobs ORDER BY idempotency_key")
    return [str(row["idempotency_key"]) for row in rows]
