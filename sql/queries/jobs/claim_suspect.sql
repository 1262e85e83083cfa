-- Take the suspect whose turn it is: a job whose last holder died on it, and not for the first time. Best priority first,
-- oldest first within it; what others hold is passed over. Only for whoever has the watch, so that one process in the
-- whole fleet runs suspects, one at a time: should it be the job that kills, nobody else dies with it. The token is made
-- as in claim.sql, so that forget_claim.sql can undo this one too; no payload comes with it, whatever its size. Without
-- `taking` it only says whose turn it is.
WITH paused AS MATERIALIZED (
  SELECT ARRAY(SELECT kind || ' ' || name FROM job_pauses
               WHERE expires_at IS NULL OR expires_at > coalesce(%(now)s::timestamptz, now())) AS names
),
suspect AS MATERIALIZED (
  SELECT job_id FROM jobs
  WHERE status = 'QUEUED' AND fail_code = 'LEASE_EXPIRED' AND attempts >= 2
    AND scheduled_at <= coalesce(%(now)s::timestamptz, now())
    AND queue = ANY (%(queues)s::text[]) AND type = ANY (%(types)s::text[])
    AND NOT ARRAY['queue ' || queue, 'type ' || type, 'tenant ' || tenant_id] && (SELECT names FROM paused)
    AND job_id <> ALL (%(passed_over)s::uuid[])
    AND EXISTS (SELECT FROM suspect_watch
                WHERE owner = %(watcher)s AND until > coalesce(%(now)s::timestamptz, now()))
  ORDER BY priority, scheduled_at, job_id LIMIT 1 FOR UPDATE SKIP LOCKED
),
claimed AS (
  UPDATE jobs
  SET status = 'RUNNING', attempts = attempts + 1, lease_owner = %(owner)s, stage = NULL, progress = NULL,
      lease_token = encode(substring(sha256(convert_to(%(nonce)s::text || job_id, 'UTF8')) FROM 1 FOR 16), 'hex')::uuid,
      lease_expires_at = coalesce(%(now)s::timestamptz, now()) + make_interval(secs => %(lease_seconds)s),
      last_heartbeat_at = coalesce(%(now)s::timestamptz, now()), started_at = coalesce(%(now)s::timestamptz, now())
  WHERE job_id = ANY (ARRAY(SELECT job_id FROM suspect WHERE %(taking)s::boolean))
  RETURNING job_id, lease_token, lease_owner, tenant_id, type, queue, priority, NULL::text AS payload, attempts,
            max_attempts, snoozes, scheduled_at, created_at, started_at, spec_hash, parent_job_id, correlation_id,
            traceparent, fail_code IS NOT DISTINCT FROM 'LEASE_EXPIRED' AS lease_expired_before,
            pg_column_size(payload) AS payload_bytes
)
SELECT suspect.job_id AS head, claimed.* FROM suspect LEFT JOIN claimed ON true
