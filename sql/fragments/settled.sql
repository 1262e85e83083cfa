-- Write how the attempts of `ends` ended, each under its token while the lease is set, with their events. The token stays
-- on the row: after a lost answer to COMMIT it tells whether this settle took place. What would be queued again is
-- CANCELLED instead when that was asked for, and a dead letter when no attempt is left.
settled AS (
  UPDATE jobs
  SET status = bpc_verdict(ends.status, jobs.cancel_requested_at, jobs.max_attempts - jobs.attempts + ends.refund),
      attempts = greatest(jobs.attempts - ends.refund, 0),
      snoozes = least(ends.snoozes, 1000),
      scheduled_at = CASE bpc_verdict(ends.status, jobs.cancel_requested_at, jobs.max_attempts - jobs.attempts + ends.refund)
                     WHEN 'QUEUED' THEN coalesce(ends.at + make_interval(secs => ends.delay_seconds), jobs.scheduled_at)
                     ELSE jobs.scheduled_at END,
      finished_at = CASE bpc_verdict(ends.status, jobs.cancel_requested_at, jobs.max_attempts - jobs.attempts + ends.refund)
                    WHEN 'QUEUED' THEN NULL ELSE ends.at END,
      lease_owner = NULL,
      lease_expires_at = NULL,
      last_error = CASE WHEN ends.error IS NULL THEN jobs.last_error
                   ELSE ends.error::jsonb || jsonb_build_object('attempt', jobs.attempts, 'at',
                     to_char(ends.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')) END,
      fail_code = CASE WHEN ends.status = 'SUCCEEDED' THEN NULL ELSE coalesce(ends.fail_code, jobs.fail_code) END,
      fail_reason = CASE WHEN ends.status = 'SUCCEEDED' THEN NULL ELSE coalesce(ends.fail_reason, jobs.fail_reason) END,
      result = ends.result::jsonb,
      spec_hash = coalesce(jobs.spec_hash, ends.spec_hash)
  FROM ends
  WHERE jobs.job_id = ends.job_id AND jobs.lease_token = ends.lease_token
    AND jobs.lease_owner = ends.owner  -- as good as IS NOT NULL, and without telling the planner that such rows are rare
  RETURNING jobs.job_id, jobs.status, jobs.attempts, ends.lease_token, jobs.attempts + ends.refund AS attempt, ends.owner,
            ends.fail_code, ends.delay_seconds, ends.event, ends.at
)
