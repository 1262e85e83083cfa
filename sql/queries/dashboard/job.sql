-- Everything about one job; JSON as text, so that not a digit of it changes on the way.
SELECT job_id, tenant_id, tenants.name AS tenant, type, queue, status, priority, attempts, max_attempts, snoozes,
       jobs.created_at, scheduled_at, started_at, finished_at, lease_owner, lease_expires_at, stage,
       progress::text AS progress, fail_code, fail_reason, last_error::text AS last_error, idempotency_key,
       encode(spec_hash, 'hex') AS spec_hash, expected_duration_ms, parent_job_id, correlation_id, traceparent,
       cancel_requested_at, jsonb_pretty(payload) AS payload, jsonb_pretty(result) AS result
FROM jobs JOIN tenants USING (tenant_id)
WHERE job_id = %(job_id)s
