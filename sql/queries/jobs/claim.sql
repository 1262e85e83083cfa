-- Take up to `limit` due jobs: best priority first, oldest first within it. Each gets a new token, which
-- every later write about this claim must name; it is derived from a nonce of this call, so that a call
-- whose answer was lost can be undone (forget_claim.sql). The CTEs are materialised so that each runs once.
-- A suspect (its last holder died on it at least twice) is taken only by an idle worker, and alone:
-- otherwise a job that kills its process takes its neighbours with it.
WITH clock AS MATERIALIZED (
  SELECT coalesce(%(now)s::timestamptz, now()) AS now
),
suspect AS MATERIALIZED (
  SELECT job_id FROM jobs
  WHERE status = 'QUEUED' AND fail_code = 'LEASE_EXPIRED' AND attempts >= 2
    AND %(idle)s::boolean
    AND scheduled_at <= (SELECT now FROM clock)
    AND type = ANY (%(types)s::text[]) AND queue = ANY (%(queues)s::text[])
  ORDER BY priority, scheduled_at, job_id
  LIMIT 1
  FOR UPDATE SKIP LOCKED
),
regular AS MATERIALIZED (
  SELECT job_id FROM jobs
  WHERE status = 'QUEUED' AND (fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR attempts < 2)
    AND scheduled_at <= (SELECT now FROM clock)
    AND type = ANY (%(types)s::text[]) AND queue = ANY (%(queues)s::text[])
  ORDER BY priority, scheduled_at, job_id
  LIMIT CASE WHEN EXISTS (SELECT FROM suspect) THEN 0 ELSE %(limit)s::integer END
  FOR UPDATE SKIP LOCKED
),
claimed AS (
  UPDATE jobs
  SET status = 'RUNNING',
      attempts = attempts + 1,
      lease_owner = %(owner)s,
      lease_token = encode(substring(sha256(convert_to(%(nonce)s::text || job_id::text, 'UTF8')) FROM 1 FOR 16), 'hex')::uuid,
      lease_expires_at = (SELECT now FROM clock) + make_interval(secs => %(lease_seconds)s),
      last_heartbeat_at = (SELECT now FROM clock),
      started_at = (SELECT now FROM clock),
      stage = NULL,
      progress = NULL
  WHERE job_id = ANY (ARRAY(SELECT job_id FROM suspect UNION ALL SELECT job_id FROM regular))
  RETURNING job_id, tenant_id, type, queue, priority, payload::text AS payload, attempts, max_attempts,
            snoozes, lease_token, scheduled_at, created_at, started_at,
            spec_hash, parent_job_id, correlation_id, traceparent,
            fail_code IS NOT DISTINCT FROM 'LEASE_EXPIRED' AND attempts > 2 AS suspect
)
SELECT * FROM claimed ORDER BY priority, scheduled_at, job_id
