-- Take all that is due, where it fits into the claim: then nobody has to be chosen, and one scan over all places does
-- what claim.sql does place by place. This is the claim of a wake-up, so it is kept small; rows, tokens and conditions
-- are those of claim.sql, the order is the caller's business.
-- Where more is due than fits, or a suspect, nothing is taken, and the first column says so.
-- The left join makes a row even when nothing was claimed.
WITH paused AS MATERIALIZED (
  SELECT ARRAY(
    SELECT kind || ' ' || name FROM job_pauses
    WHERE expires_at IS NULL OR expires_at > coalesce(%(now)s::timestamptz, now())) AS names
),
mine AS MATERIALIZED (
  SELECT ARRAY(SELECT name FROM unnest(%(queues)s::text[]) AS name WHERE 'queue ' || name <> ALL (names)) AS queues,
         ARRAY(SELECT name FROM unnest(%(types)s::text[]) AS name WHERE 'type ' || name <> ALL (names)) AS types
  FROM paused
),
due AS MATERIALIZED (  -- or one more than fits
  SELECT ARRAY(
    SELECT job_id FROM jobs
    WHERE status = 'QUEUED' AND (fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR attempts < 2) AND priority >= 0
      AND queue = ANY ((SELECT queues FROM mine)::text[]) AND type = ANY ((SELECT types FROM mine)::text[])
      AND priority = ANY (%(priorities)s::smallint[]) AND scheduled_at <= coalesce(%(now)s::timestamptz, now())
      AND 'tenant ' || tenant_id::text <> ALL ((SELECT names FROM paused)::text[])
    LIMIT %(most)s::integer + 1) AS job_ids
),
fitting AS MATERIALIZED (
  SELECT job_ids FROM due
  WHERE cardinality(job_ids) <= %(most)s::integer
    -- if suspects
    AND NOT EXISTS (
      SELECT FROM jobs
      WHERE status = 'QUEUED' AND fail_code = 'LEASE_EXPIRED' AND attempts >= 2
        AND scheduled_at <= coalesce(%(now)s::timestamptz, now())
        AND queue = ANY ((SELECT queues FROM mine)::text[]) AND type = ANY ((SELECT types FROM mine)::text[])
        AND 'tenant ' || tenant_id::text <> ALL ((SELECT names FROM paused)::text[]))
    -- end
),
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
    WHERE job_id = ANY ((SELECT job_ids FROM fitting)::uuid[])
      AND status = 'QUEUED' AND scheduled_at <= coalesce(%(now)s::timestamptz, now())  -- again, now that it is locked
    FOR UPDATE SKIP LOCKED))
  RETURNING job_id, lease_token, lease_owner, tenant_id, type, queue, priority, payload::text AS payload, attempts,
            max_attempts, snoozes, scheduled_at, created_at, started_at, spec_hash, parent_job_id, correlation_id, traceparent,
            fail_code IS NOT DISTINCT FROM 'LEASE_EXPIRED' AND attempts > 2 AS suspect
)
SELECT
  (SELECT cardinality(job_ids) FROM fitting) AS seen,
  CASE WHEN cardinality(due.job_ids) = 0 THEN (
    SELECT extract(epoch FROM min(later.scheduled_at) - coalesce(%(now)s::timestamptz, now()))::double precision
    FROM mine, unnest(mine.queues) AS at_queue, unnest(mine.types) AS at_type, unnest(%(priorities)s::smallint[]) AS at_priority
    CROSS JOIN LATERAL (
      SELECT scheduled_at FROM jobs
      WHERE status = 'QUEUED' AND (fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR attempts < 2) AND priority >= 0
        AND queue = at_queue AND type = at_type AND priority = at_priority
        AND scheduled_at > coalesce(%(now)s::timestamptz, now())
      ORDER BY scheduled_at
      LIMIT 1
    ) AS later
  ) END AS next_due,
  claimed.*
FROM due
LEFT JOIN claimed ON true
