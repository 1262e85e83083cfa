-- Take all that is due, where it fits into the claim: nobody has to be chosen then, so nobody has to be asked place by
-- place. The claim of a wake-up, and kept small; rows, tokens and conditions are those of claim.sql, the order is made
-- by the caller.
-- One scan reads what is queued, whatever it is, up to a few; `seen` is how many of them this worker may take now. It
-- is NULL where there are more to read or where there is a suspect, who is claimed alone. Then nothing is taken, nor
-- where more than `most` are due.
-- The left join makes a row even when nothing was claimed.
WITH paused AS MATERIALIZED (
  SELECT ARRAY(
    SELECT kind || ' ' || name FROM job_pauses
    WHERE expires_at IS NULL OR expires_at > coalesce(%(now)s::timestamptz, now())) AS names
),
known AS MATERIALIZED (
  SELECT
    count(*) <= %(few)s::integer
      -- if suspects
      AND NOT EXISTS (
        SELECT FROM jobs WHERE status = 'QUEUED' AND fail_code = 'LEASE_EXPIRED' AND attempts >= 2)
      -- end
      AS complete,
    array_agg(job_id) FILTER (
      WHERE mine AND scheduled_at <= coalesce(%(now)s::timestamptz, now())
        AND 'tenant ' || tenant_id::text <> ALL (names)) AS due,
    min(scheduled_at) FILTER (WHERE mine AND scheduled_at > coalesce(%(now)s::timestamptz, now())) AS later
  FROM (
    SELECT job_id, tenant_id, scheduled_at, names,
           queue = ANY (%(queues)s::text[]) AND 'queue ' || queue <> ALL (names)
             AND type = ANY (%(types)s::text[]) AND 'type ' || type <> ALL (names) AS mine
    FROM paused, jobs
    WHERE status = 'QUEUED' AND (fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR attempts < 2) AND priority >= 0
    LIMIT %(few)s::integer + 1
  ) AS queued
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
    WHERE job_id = ANY ((SELECT due FROM known WHERE complete AND cardinality(due) <= %(most)s::integer)::uuid[])
      AND status = 'QUEUED' AND scheduled_at <= coalesce(%(now)s::timestamptz, now())  -- again, now that it is locked
    FOR UPDATE SKIP LOCKED))
  RETURNING job_id, lease_token, lease_owner, tenant_id, type, queue, priority, payload::text AS payload, attempts,
            max_attempts, snoozes, scheduled_at, created_at, started_at, spec_hash, parent_job_id, correlation_id, traceparent,
            fail_code IS NOT DISTINCT FROM 'LEASE_EXPIRED' AND attempts > 2 AS suspect
)
SELECT
  CASE WHEN known.complete THEN coalesce(cardinality(known.due), 0) END AS seen,
  CASE WHEN known.due IS NULL
    THEN extract(epoch FROM known.later - coalesce(%(now)s::timestamptz, now()))::double precision END AS next_due,
  claimed.*
FROM known
LEFT JOIN claimed ON true
