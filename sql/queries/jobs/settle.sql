-- Write how an attempt ended, with its event. Zero rows: the lease is no longer ours, so nothing may be kept.
-- The token stays on the row: after a lost answer to COMMIT it tells whether this settle took place.
-- With or_fail, zero rows are an error (a division by zero): a COMMIT that is already on its way keeps nothing then.
-- What would be queued again is CANCELLED instead when that was asked for, and a dead letter when no attempt
-- is left.
WITH clock AS MATERIALIZED (
  SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now
),
held AS MATERIALIZED (
  SELECT job_id, attempts AS attempt,
         greatest(attempts - %(refund)s::integer, 0) AS attempts_after,
         CASE
           WHEN %(status)s NOT IN ('QUEUED', 'DEAD_LETTER') THEN %(status)s
           WHEN cancel_requested_at IS NOT NULL THEN 'CANCELLED'
           WHEN %(status)s = 'DEAD_LETTER' THEN 'DEAD_LETTER'
           WHEN attempts - %(refund)s::integer >= max_attempts THEN 'DEAD_LETTER'
           ELSE 'QUEUED'
         END AS verdict
  FROM jobs
  WHERE job_id = %(job_id)s AND lease_token = %(lease_token)s
    AND lease_owner IS NOT NULL  -- as good as the expiry, and without tempting the planner into its index
  FOR UPDATE
),
settled AS (
  UPDATE jobs
  SET status = held.verdict,
      attempts = held.attempts_after,
      snoozes = least(%(snoozes)s::integer, 1000),
      scheduled_at = CASE WHEN held.verdict = 'QUEUED'
                     THEN coalesce(clock.now + make_interval(secs => %(delay_seconds)s::double precision), scheduled_at)
                     ELSE scheduled_at END,
      finished_at = CASE WHEN held.verdict = 'QUEUED' THEN NULL ELSE clock.now END,
      lease_owner = NULL,
      lease_expires_at = NULL,
      last_error = CASE WHEN %(error)s::text IS NULL THEN last_error
                   ELSE %(error)s::jsonb || jsonb_build_object('attempt', held.attempt, 'at',
                     to_char(clock.now AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')) END,
      fail_code = CASE WHEN held.verdict = 'SUCCEEDED' THEN NULL ELSE coalesce(%(fail_code)s, fail_code) END,
      fail_reason = CASE WHEN held.verdict = 'SUCCEEDED' THEN NULL ELSE coalesce(%(fail_reason)s, fail_reason) END,
      result = %(result)s::jsonb,
      spec_hash = coalesce(spec_hash, %(spec_hash)s)
  FROM held, clock
  WHERE jobs.job_id = held.job_id
  RETURNING jobs.job_id, jobs.status, jobs.attempts, held.attempt, jobs.scheduled_at
),
noted AS (
  INSERT INTO job_events (job_id, at, type, data)
  SELECT settled.job_id, clock.now,
         CASE settled.status
           WHEN 'CANCELLED' THEN 'job:cancelled'
           WHEN 'DEAD_LETTER' THEN 'job:dead_lettered'
           ELSE %(event)s END,
         jsonb_build_object('attempt', settled.attempt, 'code', %(fail_code)s::text, 'locked_by', %(owner)s::text)
         || CASE WHEN settled.status = 'QUEUED' THEN jsonb_build_object('delay_s', coalesce(%(delay_seconds)s::double precision, 0))
            ELSE '{}' END
  FROM settled, clock
  WHERE settled.status <> 'SUCCEEDED'
)
SELECT status, attempts FROM settled
UNION ALL
SELECT NULL, 1 / count(*)::integer FROM settled HAVING %(or_fail)s::boolean AND count(*) = 0
