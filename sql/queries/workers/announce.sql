-- This process is there and handles these types in these queues; who has long been gone is forgotten. Rarely run.
WITH gone AS (
  DELETE FROM workers
  WHERE expires_at < clock_timestamp() - interval '1 hour'
    AND (worker_id, host, pid) IS DISTINCT FROM (%(worker_id)s::text, %(host)s::text, %(pid)s::integer)
)
INSERT INTO workers (worker_id, host, pid, release, types, queues, concurrency, started_at, seen_at, expires_at)
VALUES (%(worker_id)s, %(host)s, %(pid)s, %(release)s, %(types)s, %(queues)s, %(concurrency)s,
        clock_timestamp(), clock_timestamp(), clock_timestamp() + make_interval(secs => %(for_seconds)s))
ON CONFLICT (worker_id, host, pid) DO UPDATE
SET release = excluded.release, types = excluded.types, queues = excluded.queues, concurrency = excluded.concurrency,
    started_at = CASE WHEN %(first)s::boolean THEN excluded.started_at ELSE workers.started_at END,
    seen_at = excluded.seen_at, expires_at = excluded.expires_at
