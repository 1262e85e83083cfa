-- Which workers have announced themselves.
SELECT worker_id, host, pid, release, types, queues, concurrency, started_at, seen_at, expires_at
FROM workers
WHERE expires_at > clock_timestamp()
ORDER BY worker_id, host, pid
