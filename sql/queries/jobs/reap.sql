-- Bring back one page of jobs whose lease has ended, oldest first. Clearing the token shuts out the old
-- holder. Any number of reapers may run: rows are locked or skipped, and the whole condition stands again
-- at the write. A statement that reaches a stopped server acts when that server goes on, long after it was
-- sent and before the holders had a chance to renew: so it acts only soon after `asked_at`, a time that the
-- same server gave.
WITH clock AS MATERIALIZED (
  SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now
),
expired AS MATERIALIZED (
  SELECT job_id, lease_owner, attempts AS attempt, stage,
         CASE
           WHEN cancel_requested_at IS NOT NULL THEN 'CANCELLED'
           WHEN attempts < max_attempts THEN 'QUEUED'
           ELSE 'DEAD_LETTER'
         END AS verdict
  FROM jobs
  WHERE lease_expires_at <= (SELECT now FROM clock)
    AND lease_expires_at > coalesce(%(since)s::timestamptz, '-infinity')  -- before it there was nothing at the last look
    AND (SELECT now FROM clock) <= %(asked_at)s::timestamptz + make_interval(secs => %(within_seconds)s)
  ORDER BY lease_expires_at
  LIMIT %(page)s
  FOR UPDATE SKIP LOCKED
),
moved AS (
  UPDATE jobs
  SET status = expired.verdict,
      scheduled_at = CASE WHEN expired.verdict = 'QUEUED'
                     THEN clock.now + make_interval(secs =>
                       least(%(backoff_max)s, power(%(backoff_base)s, least(jobs.attempts, 30)))
                       * (1 + random() * 0.1))
                     ELSE scheduled_at END,
      finished_at = CASE WHEN expired.verdict = 'QUEUED' THEN NULL ELSE clock.now END,
      snoozes = 0,
      lease_owner = NULL,
      lease_token = NULL,
      lease_expires_at = NULL,
      last_error = jsonb_build_object(
        'code', 'LEASE_EXPIRED', 'message', 'the worker died, froze or lost the database, and its lease ended',
        'retryable', true, 'attempt', jobs.attempts,
        'at', to_char(clock.now AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
        'detail', jsonb_build_object('locked_by', expired.lease_owner)),
      fail_code = 'LEASE_EXPIRED',
      fail_reason = 'lease expired'
  FROM expired, clock
  WHERE jobs.job_id = expired.job_id
    AND jobs.status = 'RUNNING' AND jobs.lease_expires_at <= clock.now
  RETURNING jobs.job_id, jobs.type, jobs.queue, jobs.status, expired.lease_owner, expired.attempt, expired.stage
),
noted AS (
  INSERT INTO job_events (job_id, at, type, data)
  SELECT moved.job_id, clock.now, kind.name, jsonb_build_object(
    'type', kind.name, 'table', 'jobs',
    'details', jsonb_build_object('reason', 'lease_expired', 'locked_by', moved.lease_owner,
                                  'attempt', moved.attempt, 'stage', moved.stage),
    'at', to_char(clock.now AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))
  FROM moved, clock,
       LATERAL (SELECT CASE moved.status WHEN 'QUEUED' THEN 'reaper:requeued'
                                         WHEN 'CANCELLED' THEN 'job:cancelled'
                                         ELSE 'reaper:dead_lettered' END AS name) AS kind
)
SELECT job_id, type, queue, status, lease_owner, attempt FROM moved
