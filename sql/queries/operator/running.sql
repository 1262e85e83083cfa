-- What runs now, the longest first.
SELECT job_id, type, queue, lease_owner, attempts, max_attempts, stage, started_at, lease_expires_at,
       expected_duration_ms, extract(epoch FROM clock_timestamp() - started_at)::double precision AS seconds
FROM jobs
WHERE lease_expires_at IS NOT NULL
ORDER BY started_at, job_id
LIMIT %(page)s
