-- Write how the attempts ended whose rows are `held` under their token, with their events. The token stays on the row:
-- after a lost answer to COMMIT it tells whether this settle took place. What would be queued again is CANCELLED
-- instead when that was asked for, and a dead letter when no attempt is left.
settled AS (
  UPDATE jobs
  SET status = ruled.verdict,
      attempts = greatest(ruled.attempt - ruled.refund, 0),
      snoozes = least(ruled.snoozes, 1000),
      scheduled_at = CASE WHEN ruled.verdict = 'QUEUED'
                     THEN coalesce(ruled.at + make_interval(secs => ruled.delay_seconds), jobs.scheduled_at)
                     ELSE jobs.scheduled_at END,
      finished_at = CASE WHEN ruled.verdict = 'QUEUED' THEN NULL ELSE ruled.at END,
      lease_owner = NULL,
      lease_expires_at = NULL,
      last_error = CASE WHEN ruled.error IS NULL THEN jobs.last_error
                   ELSE ruled.error::jsonb || jsonb_build_object('attempt', ruled.attempt, 'at',
                     to_char(ruled.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')) END,
      fail_code = CASE WHEN ruled.verdict = 'SUCCEEDED' THEN NULL ELSE coalesce(ruled.fail_code, jobs.fail_code) END,
      fail_reason = CASE WHEN ruled.verdict = 'SUCCEEDED' THEN NULL
                    ELSE coalesce(ruled.fail_reason, jobs.fail_reason) END,
      result = ruled.result::jsonb,
      spec_hash = coalesce(jobs.spec_hash, ruled.spec_hash)
  FROM (
    SELECT held.*, coalesce(%(now)s::timestamptz, clock_timestamp()) AS at,
           CASE
             WHEN status NOT IN ('QUEUED', 'DEAD_LETTER') THEN status
             WHEN cancel_requested_at IS NOT NULL THEN 'CANCELLED'
             WHEN status = 'DEAD_LETTER' OR attempt - refund >= max_attempts THEN 'DEAD_LETTER'
             ELSE 'QUEUED'
           END AS verdict
    FROM held
  ) AS ruled
  WHERE jobs.job_id = ruled.job_id
  RETURNING jobs.job_id, jobs.status, jobs.attempts, ruled.lease_token, ruled.attempt, ruled.owner, ruled.fail_code,
            ruled.delay_seconds, ruled.event, ruled.at
),
noted AS (
  INSERT INTO job_events (job_id, at, type, data)
  SELECT job_id, at,
         CASE status WHEN 'CANCELLED' THEN 'job:cancelled' WHEN 'DEAD_LETTER' THEN 'job:dead_lettered' ELSE event END,
         jsonb_build_object('attempt', attempt, 'code', fail_code, 'locked_by', owner)
         || CASE WHEN status = 'QUEUED' THEN jsonb_build_object('delay_s', coalesce(delay_seconds, 0)) ELSE '{}' END
  FROM settled
  WHERE status <> 'SUCCEEDED'
)
