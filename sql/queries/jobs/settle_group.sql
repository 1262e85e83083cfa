-- Write how many attempts ended, in one statement: settle.sql for each row, with its event. A row that somebody
-- has locked, or that is no longer ours, is missing from the answer, and is settled singly.
-- The token stays on the row: after a lost answer it tells whether this settle took place.
WITH clock AS MATERIALIZED (
  SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now
),
told AS MATERIALIZED (
  SELECT job_id, lease_token, owner, status, refund, snoozes, delay_seconds, error, fail_code, fail_reason, result,
         spec_hash, event
  FROM unnest(%(job_id)s::uuid[], %(lease_token)s::uuid[], %(owner)s::text[], %(status)s::text[],
              %(refund)s::integer[], %(snoozes)s::integer[], %(delay_seconds)s::double precision[],
              %(error)s::text[], %(fail_code)s::text[], %(fail_reason)s::text[], %(result)s::text[],
              %(spec_hash)s::bytea[], %(event)s::text[])
       AS listed (job_id, lease_token, owner, status, refund, snoozes, delay_seconds, error, fail_code, fail_reason,
                  result, spec_hash, event)
),
held AS MATERIALIZED (
  SELECT jobs.job_id, jobs.attempts AS attempt, told.lease_token, told.owner, told.delay_seconds, told.error,
         told.fail_code, told.fail_reason, told.result, told.spec_hash, told.event,
         least(told.snoozes, 1000) AS snoozes,
         greatest(jobs.attempts - told.refund, 0) AS attempts_after,
         CASE
           WHEN told.status NOT IN ('QUEUED', 'DEAD_LETTER') THEN told.status
           WHEN jobs.cancel_requested_at IS NOT NULL THEN 'CANCELLED'
           WHEN told.status = 'DEAD_LETTER' THEN 'DEAD_LETTER'
           WHEN jobs.attempts - told.refund >= jobs.max_attempts THEN 'DEAD_LETTER'
           ELSE 'QUEUED'
         END AS verdict
  FROM told JOIN jobs ON jobs.job_id = told.job_id AND jobs.lease_token = told.lease_token
  WHERE jobs.lease_owner IS NOT NULL
  FOR UPDATE OF jobs SKIP LOCKED
),
settled AS (
  UPDATE jobs
  SET status = held.verdict,
      attempts = held.attempts_after,
      snoozes = held.snoozes,
      scheduled_at = CASE WHEN held.verdict = 'QUEUED'
                     THEN coalesce(clock.now + make_interval(secs => held.delay_seconds), jobs.scheduled_at)
                     ELSE jobs.scheduled_at END,
      finished_at = CASE WHEN held.verdict = 'QUEUED' THEN NULL ELSE clock.now END,
      lease_owner = NULL,
      lease_expires_at = NULL,
      last_error = CASE WHEN held.error IS NULL THEN jobs.last_error
                   ELSE held.error::jsonb || jsonb_build_object('attempt', held.attempt, 'at',
                     to_char(clock.now AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')) END,
      fail_code = CASE WHEN held.verdict = 'SUCCEEDED' THEN NULL ELSE coalesce(held.fail_code, jobs.fail_code) END,
      fail_reason = CASE WHEN held.verdict = 'SUCCEEDED' THEN NULL ELSE coalesce(held.fail_reason, jobs.fail_reason) END,
      result = held.result::jsonb,
      spec_hash = coalesce(jobs.spec_hash, held.spec_hash)
  FROM held, clock
  WHERE jobs.job_id = held.job_id
  RETURNING jobs.job_id, jobs.status, held.lease_token, held.attempt, held.owner, held.fail_code, held.delay_seconds,
            held.event
),
noted AS (
  INSERT INTO job_events (job_id, at, type, data)
  SELECT settled.job_id, clock.now,
         CASE settled.status
           WHEN 'CANCELLED' THEN 'job:cancelled'
           WHEN 'DEAD_LETTER' THEN 'job:dead_lettered'
           ELSE settled.event END,
         jsonb_build_object('attempt', settled.attempt, 'code', settled.fail_code, 'locked_by', settled.owner)
         || CASE WHEN settled.status = 'QUEUED' THEN jsonb_build_object('delay_s', coalesce(settled.delay_seconds, 0))
            ELSE '{}' END
  FROM settled, clock
  WHERE settled.status <> 'SUCCEEDED'
)
SELECT lease_token, status FROM settled
