-- A page of dead letters with everything about them, the oldest first; JSON as text, so that not a digit changes.
SELECT job_id, tenant_id, tenants.name AS tenant, type, queue, status, priority, attempts, max_attempts, snoozes,
       dead.created_at, scheduled_at, started_at, finished_at, lease_owner, lease_expires_at, last_heartbeat_at,
       stage, progress::text AS progress, fail_code, fail_reason, last_error::text AS last_error, idempotency_key,
       encode(spec_hash, 'hex') AS spec_hash, expected_duration_ms, parent_job_id, correlation_id, traceparent,
       cancel_requested_at, payload::text AS payload, result::text AS result
FROM bpc_dead_letters(%(type)s, %(code)s, %(tenant_id)s, %(since)s, %(before)s, %(failed_too)s) AS dead
JOIN tenants USING (tenant_id)
WHERE %(after_id)s::uuid IS NULL OR (dead.finished_at, dead.job_id) > (%(after)s::timestamptz, %(after_id)s)
ORDER BY dead.finished_at, dead.job_id
LIMIT %(page)s
