-- claim.sql where something is due at one place only, as far as is known: the statement of a queue that is being
-- emptied, so it is kept small. The same rows are taken, in the order of the place; by turns the first is the next
-- tenant's in the ring.
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
-- if ring
ring AS MATERIALIZED (
  SELECT lap, tenant_id
  FROM (
    (SELECT 1 AS lap, tenant_id FROM tenants WHERE tenant_id > %(ring_after)s::uuid
     ORDER BY tenant_id LIMIT %(hops)s::integer)
    UNION ALL
    (SELECT 2, tenant_id FROM tenants WHERE tenant_id <= %(ring_after)s::uuid
     ORDER BY tenant_id LIMIT %(hops)s::integer)
  ) AS round
  ORDER BY lap, tenant_id
  LIMIT %(hops)s::integer
),
next_of_ring AS MATERIALIZED (
  SELECT ring.tenant_id, hit.job_id
  FROM ring
  CROSS JOIN LATERAL (
    SELECT job_id FROM jobs
    WHERE status = 'QUEUED' AND (fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR attempts < 2) AND priority <= 3
      AND tenant_id = ring.tenant_id
      AND queue = %(queue)s AND type = %(type)s AND priority = %(priority)s::smallint
      AND (scheduled_at, job_id) >= (%(since)s::timestamptz, %(since_id)s::uuid)
      AND scheduled_at <= coalesce(%(now)s::timestamptz, now())
    ORDER BY scheduled_at, job_id
    LIMIT 1
  ) AS hit
  WHERE ring.tenant_id::text <> ALL (ARRAY(SELECT name FROM paused WHERE kind = 'tenant'))
    AND NOT EXISTS (
      SELECT FROM paused
      WHERE (kind = 'queue' AND name = %(queue)s) OR (kind = 'type' AND name = %(type)s))
  LIMIT 1
),
first AS MATERIALIZED (
  SELECT job_id FROM jobs
  WHERE job_id = (SELECT job_id FROM next_of_ring) AND status = 'QUEUED'
    AND scheduled_at <= coalesce(%(now)s::timestamptz, now())
  FOR UPDATE SKIP LOCKED
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
  WHERE job_id = ANY (
    -- if ring
    ARRAY(SELECT job_id FROM first) ||
    -- end
    ARRAY(
    SELECT job_id FROM jobs
    WHERE status = 'QUEUED' AND (fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR attempts < 2) AND priority >= 0
      AND queue = %(queue)s AND type = %(type)s AND priority = %(priority)s::smallint
      AND (scheduled_at, job_id) >= (%(since)s::timestamptz, %(since_id)s::uuid)
      AND scheduled_at <= coalesce(%(now)s::timestamptz, now())
      AND tenant_id::text <> ALL (ARRAY(SELECT name FROM paused WHERE kind = 'tenant'))
      AND NOT EXISTS (
        SELECT FROM paused
        WHERE (kind = 'queue' AND name = %(queue)s) OR (kind = 'type' AND name = %(type)s))
      -- if ring
      AND job_id <> ALL (ARRAY(SELECT job_id FROM first))
      -- end
    ORDER BY scheduled_at, job_id
    LIMIT %(limit)s::integer
      -- if ring
      - (SELECT count(*) FROM first)
      -- end
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
  -- if ring
  coalesce((SELECT tenant_id FROM next_of_ring),
           (SELECT tenant_id FROM ring ORDER BY lap DESC, tenant_id DESC LIMIT 1)) AS ring_at,
  -- end
  -- if no ring
  NULL::uuid AS ring_at,
  -- end
  claimed.*
FROM (VALUES (true)) AS always (there)
LEFT JOIN claimed ON always.there
ORDER BY
  -- if ring
  claimed.job_id <> ALL (ARRAY(SELECT job_id FROM first)),
  -- end
  claimed.scheduled_at, claimed.job_id
