-- A page of dead letters with everything about them, the oldest first; JSON as text, so that not a digit changes.
SELECT jobs.job_id, jobs.tenant_id, tenants.name AS tenant, jobs.type, jobs.queue, jobs.status, jobs.priority,
       jobs.attempts, jobs.max_attempts, jobs.snoozes, jobs.created_at, jobs.scheduled_at, jobs.started_at,
       jobs.finished_at, jobs.lease_owner, jobs.lease_expires_at, jobs.last_heartbeat_at, jobs.stage,
       jobs.progress::text AS progress, jobs.fail_code, jobs.fail_reason, jobs.last_error::text AS last_error,
       jobs.idempotency_key, encode(jobs.spec_hash, 'hex') AS spec_hash, jobs.expected_duration_ms,
       jobs.parent_job_id, jobs.correlation_id, jobs.traceparent, jobs.cancel_requested_at,
       jobs.payload::text AS payload, jobs.result::text AS result
FROM (
  SELECT dead.job_id, dead.finished_at
  FROM bpc_dead_letters(%(type)s, %(code)s, %(tenant_id)s, %(since)s, %(before)s, %(failed_too)s) AS dead
  WHERE %(after_id)s::uuid IS NULL OR (dead.finished_at, dead.job_id) > (%(after)s::timestamptz, %(after_id)s)
  ORDER BY dead.finished_at, dead.job_id
  LIMIT %(page)s
) AS page
JOIN jobs USING (job_id)
JOIN tenants USING (tenant_id)
ORDER BY page.finished_at, page.job_id
