-- A page of dead letters, the newest first.
SELECT dead.job_id, tenants.name AS tenant, dead.type, dead.queue, dead.status, dead.priority, dead.attempts,
       dead.max_attempts, dead.created_at, dead.scheduled_at, dead.started_at, dead.finished_at,
       NULL AS lease_owner, dead.fail_code, left(dead.last_error ->> 'message', 200) AS message
FROM bpc_dead_letters(%(type)s, %(code)s, %(tenant_id)s, %(since)s, %(before)s, %(failed_too)s) AS dead
JOIN tenants USING (tenant_id)
WHERE %(after_id)s::uuid IS NULL OR (dead.finished_at, dead.job_id) < (%(after)s::timestamptz, %(after_id)s)
ORDER BY dead.finished_at DESC, dead.job_id DESC
LIMIT %(page)s
