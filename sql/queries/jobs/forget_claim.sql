-- Undo a claim whose answer never arrived: nobody runs those jobs, so give them back at once instead of
-- leaving them to the reaper. Only rows that this very call claimed carry a token made from its nonce.
WITH unheard AS MATERIALIZED (
  SELECT job_id FROM jobs
  WHERE lease_expires_at IS NOT NULL AND lease_owner = %(owner)s
    AND lease_token = encode(substring(sha256(convert_to(%(nonce)s::text || job_id::text, 'UTF8')) FROM 1 FOR 16), 'hex')::uuid
  FOR UPDATE SKIP LOCKED
),
returned AS (
  UPDATE jobs
  SET status = CASE WHEN cancel_requested_at IS NULL THEN 'QUEUED' ELSE 'CANCELLED' END,
      finished_at = CASE WHEN cancel_requested_at IS NULL THEN NULL ELSE clock_timestamp() END,
      attempts = greatest(attempts - 1, 0), lease_owner = NULL, lease_token = NULL, lease_expires_at = NULL
  WHERE job_id = ANY (ARRAY(SELECT job_id FROM unheard))
  RETURNING job_id, attempts
),
noted AS (
  INSERT INTO job_events (job_id, type, data)
  SELECT job_id, 'job:released', jsonb_build_object('attempt', attempts + 1, 'code', 'DB_UNAVAILABLE', 'locked_by', %(owner)s::text)
  FROM returned
)
SELECT job_id FROM returned
