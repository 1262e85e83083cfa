-- The same of the tenant's own.
SELECT job_id, type, status, attempts, max_attempts, created_at, started_at, finished_at, stage, fail_code
FROM own_jobs WHERE correlation_id = %(correlation_id)s AND correlation_id IS NOT NULL
ORDER BY job_id LIMIT %(limit)s
