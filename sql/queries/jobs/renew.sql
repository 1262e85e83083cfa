-- Extend the leases of all jobs that a worker holds, in one statement, and write their progress with it.
-- A row that somebody has locked is skipped, so that it cannot hold up the others; one whose lease has
-- ended is never revived; a lease never moves back.
WITH clock AS MATERIALIZED (
  SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now
),
mine AS MATERIALIZED (
  SELECT job_id FROM jobs
  WHERE job_id = ANY (%(job_ids)s::uuid[])
    AND lease_token = ANY (%(lease_tokens)s::uuid[])
    AND lease_expires_at > (SELECT now FROM clock)
  FOR UPDATE SKIP LOCKED
)
UPDATE jobs
SET lease_expires_at = greatest(lease_expires_at, (SELECT now FROM clock) + make_interval(secs => %(lease_seconds)s)),
    last_heartbeat_at = (SELECT now FROM clock),
    stage = coalesce(told.stage, jobs.stage),
    progress = coalesce(told.progress::jsonb, jobs.progress)
FROM unnest(%(job_ids)s::uuid[], %(stages)s::text[], %(progress)s::text[]) AS told (job_id, stage, progress)
WHERE jobs.job_id = ANY (ARRAY(SELECT job_id FROM mine)) AND jobs.job_id = told.job_id
RETURNING jobs.lease_token, jobs.cancel_requested_at IS NOT NULL AS cancel_requested
