"""The raw limit of our table: one connection, one statement that ends the last batch and takes the next."""

import sys
import time
from typing import Any
from uuid import UUID

import psycopg

from tests.bench.peers.wire import asked, say

# Both halves in one statement: the cheapest loop there is. Columns, index and fence are the worker's.
STEP = """
WITH settled AS (
  UPDATE jobs
  SET status = 'SUCCEEDED', finished_at = clock_timestamp(), lease_owner = NULL, lease_expires_at = NULL,
      result = done.result::jsonb
  FROM unnest(%(job_ids)s::uuid[], %(tokens)s::uuid[], %(results)s::text[]) AS done (job_id, token, result)
  WHERE jobs.job_id = done.job_id AND jobs.lease_token = done.token AND jobs.lease_owner IS NOT NULL
)
UPDATE jobs
SET status = 'RUNNING', attempts = attempts + 1, lease_owner = 'raw', lease_token = gen_random_uuid(),
    lease_expires_at = now() + interval '60 s', last_heartbeat_at = now(), started_at = now()
WHERE job_id = ANY (ARRAY(
  SELECT job_id FROM jobs
  WHERE status = 'QUEUED' AND (fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR attempts < 2) AND priority >= 0
    AND queue = 'default' AND type = 'TEST_NOOP' AND priority = 2 AND scheduled_at <= now()
    AND (scheduled_at, job_id) >= (%(since)s::timestamptz, %(since_id)s::uuid)
  ORDER BY scheduled_at, job_id
  LIMIT %(batch)s
  FOR UPDATE SKIP LOCKED))
RETURNING job_id, lease_token, payload::text, scheduled_at
"""


def drain(url: str, batch: int) -> None:
    held: list[tuple[Any, ...]] = []
    since, since_id = "-infinity", UUID(int=0)  # what is older is done: the worker, too, passes over it
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET enable_seqscan = off")  # as the worker has it
        say(ready=True)
        while True:
            result = f'{{"started_ns": {time.monotonic_ns()}}}'
            params = {
                "job_ids": [row[0] for row in held],
                "tokens": [row[1] for row in held],
                "results": [result] * len(held),
                "batch": batch,
                "since": since,
                "since_id": since_id,
            }
            rows = connection.execute(STEP, params, prepare=True).fetchall()
            if not rows and not held:
                sys.stdin.readline()  # stay until somebody has read what this took
                return
            held = rows
            since, since_id = min(((row[3], row[0]) for row in rows), default=(since, since_id))


if __name__ == "__main__":
    wanted = asked()
    del wanted["do"]
    drain(**wanted)
