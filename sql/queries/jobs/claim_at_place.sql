-- claim.sql where something is due at one place only, as far as is known, and nobody has a turn: the statement of
-- a queue that is being emptied, so it is kept small. The same rows are taken, in the order of the place.
-- With the ends of jobs that succeeded, each fenced by its token: one round trip and one commit for both. A row
-- that somebody has locked is waited for, briefly (lock_timeout); then neither half has happened.
-- The left join makes a row even when nothing was claimed.
WITH paused AS MATERIALIZED (
  SELECT kind, name FROM job_pauses
  WHERE expires_at IS NULL OR expires_at > coalesce(%(now)s::timestamptz, now())
),
-- if ends
ended AS (
  UPDATE jobs
  SET status = 'SUCCEEDED',
      snoozes = 0,
      finished_at = coalesce(%(now)s::timestamptz, clock_timestamp()),
      lease_owner = NULL,
      lease_expires_at = NULL,
      fail_code = NULL,
      fail_reason = NULL,
      result = told.result::jsonb,
      spec_hash = coalesce(jobs.spec_hash, told.spec_hash)
  FROM unnest(%(ended_ids)s::uuid[], %(ended_tokens)s::uuid[], %(results)s::text[], %(spec_hashes)s::bytea[])
       AS told (job_id, lease_token, result, spec_hash)
  WHERE jobs.job_id = told.job_id AND jobs.lease_token = told.lease_token AND jobs.lease_owner IS NOT NULL
  RETURNING jobs.job_id
),
-- end
claimed AS (
  UPDATE jobs
  SET status = 'RUNNING',
      attempts = attempts + 1,
      lease_owner = %(owner)s,
      lease_token = encode(substring(sha256(convert_to(%(nonce)s::text || job_id::text, 'UTF8')) FROM 1 FOR 16), 'hex')::uuid,
      lease_expires_at = coalesce(%(now)s::timestamptz, now()) + make_interval(secs => %(lease_seconds)s),
      last_heartbeat_at = coalesce(%(now)s::timestamptz, now()),
      started_at = coalesce(%(now)s::timestamptz, now()),
      stage = NULL,
      progress = NULL
  WHERE job_id = ANY (ARRAY(
    SELECT job_id FROM jobs
    WHERE status = 'QUEUED' AND (fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR attempts < 2) AND priority >= 0
      AND queue = %(queue)s AND type = %(type)s AND priority = %(priority)s::smallint
      AND scheduled_at >= %(since)s::timestamptz AND scheduled_at <= coalesce(%(now)s::timestamptz, now())
      AND tenant_id::text <> ALL (ARRAY(SELECT name FROM paused WHERE kind = 'tenant'))
      AND NOT EXISTS (
        SELECT FROM paused
        WHERE (kind = 'queue' AND name = %(queue)s) OR (kind = 'type' AND name = %(type)s))
    ORDER BY scheduled_at, job_id
    LIMIT %(limit)s::integer
    FOR UPDATE SKIP LOCKED))
  RETURNING job_id, lease_token, lease_owner, tenant_id, type, queue, priority, payload::text AS payload, attempts,
            max_attempts, snoozes, scheduled_at, created_at, started_at, spec_hash, parent_job_id, correlation_id, traceparent,
            fail_code IS NOT DISTINCT FROM 'LEASE_EXPIRED' AND attempts > 2 AS suspect
)
SELECT
  -- if ends
  (SELECT count(*) FROM ended) AS ended,
  -- end
  -- if no ends
  0 AS ended,
  -- end
  claimed.*
FROM (VALUES (true)) AS always (there)
LEFT JOIN claimed ON always.there
ORDER BY claimed.scheduled_at, claimed.job_id
