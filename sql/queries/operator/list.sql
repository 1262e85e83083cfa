-- A page of jobs, the newest first: ids are ordered by time (but for those that other programs made their own way).
-- What runs has a lease, and the leases have an index.
SELECT jobs.job_id, tenants.name AS tenant, jobs.type, jobs.queue, jobs.status, jobs.priority, jobs.attempts,
       jobs.max_attempts, jobs.created_at, jobs.scheduled_at, jobs.started_at, jobs.finished_at, jobs.lease_owner,
       jobs.fail_code, left(jobs.last_error ->> 'message', 200) AS message
FROM jobs JOIN tenants USING (tenant_id)
WHERE (%(after)s::uuid IS NULL OR jobs.job_id < %(after)s)
  AND (%(statuses)s::text[] IS NULL OR jobs.status = ANY (%(statuses)s))
  AND (%(statuses)s::text[] IS DISTINCT FROM '{RUNNING}' OR jobs.lease_expires_at IS NOT NULL)
  AND (%(type)s::text IS NULL OR jobs.type = %(type)s)
  AND (%(queue)s::text IS NULL OR jobs.queue = %(queue)s)
  AND (%(tenant_id)s::uuid IS NULL OR jobs.tenant_id = %(tenant_id)s)
  AND (%(code)s::text IS NULL OR jobs.fail_code = %(code)s)
  AND (%(spec_hash)s::bytea IS NULL OR jobs.spec_hash = %(spec_hash)s)
  AND (%(since)s::timestamptz IS NULL OR jobs.created_at >= %(since)s)
  AND (%(before)s::timestamptz IS NULL OR jobs.created_at < %(before)s)
ORDER BY jobs.job_id DESC
LIMIT %(page)s
