"""Hundreds of thousands of rows of `jobs`, quickly, as producers and workers would have left them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import LiteralString

from tests.support.database import Database

_INDEXES: LiteralString = (
    "SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS made FROM pg_index"
    " WHERE indrelid = 'jobs'::regclass AND NOT indisunique"
)
# Ids as of version 7: in the order of time. Ends are what a settle leaves.
_FILL: LiteralString = """
INSERT INTO jobs (job_id, tenant_id, type, queue, status, priority, payload, attempts, scheduled_at,
                  created_at, started_at, finished_at, lease_token, result)
SELECT (lpad(to_hex(extract(epoch FROM due.at)::bigint * 1000), 12, '0')
        || '7000' || '8' || right(md5(random()::text), 15))::uuid,
       owner.ids[1 + n %% cardinality(owner.ids)], %(type)s, %(queue)s, %(status)s, %(priority)s,
       %(payload)s::jsonb, (%(status)s <> 'QUEUED')::int, due.at, due.at,
       CASE WHEN %(status)s <> 'QUEUED' THEN due.at END, CASE WHEN %(status)s <> 'QUEUED' THEN due.at END,
       CASE WHEN %(status)s <> 'QUEUED' THEN gen_random_uuid() END,
       CASE WHEN %(status)s <> 'QUEUED' THEN '{}'::jsonb END
FROM generate_series(1, %(count)s) AS n,
     (SELECT array_agg(tenant_id) AS ids FROM tenants WHERE name LIKE %(tenants)s) AS owner,
     LATERAL (SELECT now() + %(due)s::interval + n * interval '10 microseconds' AS at) AS due
"""


def fill(
    db: Database,
    count: int,
    *,
    job_type: str = "TEST_NOOP",
    queue: str = "default",
    status: str = "QUEUED",
    priority: int = 2,
    payload: str = "{}",
    due: str = "-1 hour",
    tenants: int = 1,
) -> None:
    """`tenants` above one: that many new ones, by turns."""
    db.tenant()
    if tenants > 1:
        db.run("INSERT INTO tenants (name) SELECT 'many-' || n FROM generate_series(1, %s) AS n", [tenants])
    with without_indexes(db), db.connect() as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute(
            _FILL,
            {
                "type": job_type,
                "queue": queue,
                "status": status,
                "priority": priority,
                "payload": payload,
                "count": count,
                "due": due,
                "tenants": "many-%" if tenants > 1 else "acme",
            },
        )


@contextmanager
def without_indexes(db: Database) -> Iterator[None]:
    """Built anew afterwards: by far the quicker way for many rows."""
    found = db.run(_INDEXES)
    for index in found:
        db.run(f"DROP INDEX {index['name']}")
    yield
    for index in found:
        db.run(str(index["made"]))
