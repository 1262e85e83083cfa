-- Bring back one page of jobs whose lease has ended, oldest first. Clearing the token shuts out the old
-- holder. Any number of reapers may run: rows are locked or skipped, and the whole condition stands again
-- at the write. A statement that reaches a stopped server acts when that server goes on, long after it was
-- sent and before the holders had a chance to renew: so it acts only soon after `asked_at`, a time that the
-- same server gave. After an outage, only what has ended for so many seconds: the rest may have ended in it.
-- A last attempt, and any after a death, begins in the database first (begin.sql). One that never did is given back: no
-- handler saw it, and it is not to blame. The pauses grow and the times are counted, for it may be what kills its worker
-- before anybody can say so.
WITH clock AS MATERIALIZED (
  SELECT now, now - make_interval(secs => %(ended_for)s) AS ended_by
  FROM coalesce(%(now)s::timestamptz, clock_timestamp()) AS now
),
expired AS MATERIALIZED (
  SELECT job_id, lease_owner, attempts AS attempt, stage, max_attempts, cancel_requested_at, refund
  FROM jobs CROSS JOIN LATERAL (
    SELECT ((attempts >= max_attempts OR fail_code IS NOT DISTINCT FROM 'LEASE_EXPIRED')
            AND begun_token IS DISTINCT FROM lease_token AND snoozes < %(max_snoozes)s)::integer AS refund) AS never_begun
  WHERE lease_expires_at <= (SELECT ended_by FROM clock)
    AND lease_expires_at > coalesce(%(since)s::timestamptz, '-infinity')  -- before it there was nothing at the last look
    AND (SELECT now FROM clock) <= %(asked_at)s::timestamptz + make_interval(secs => %(within_seconds)s)
  ORDER BY lease_expires_at
  LIMIT %(page)s
  FOR UPDATE OF jobs SKIP LOCKED
),
ruled AS MATERIALIZED (
  SELECT job_id, lease_owner, attempt, stage, refund,
         CASE
           WHEN cancel_requested_at IS NOT NULL THEN 'CANCELLED'
           WHEN attempt - refund < max_attempts THEN 'QUEUED'
           ELSE 'DEAD_LETTER'
         END AS verdict,
         CASE refund WHEN 0 THEN 'the worker died, froze or lost the database, and its lease ended'
                     ELSE 'the worker was lost before the job began, so that the attempt does not count' END AS message
  FROM expired
),
moved AS (
  UPDATE jobs
  SET status = ruled.verdict,
      attempts = greatest(jobs.attempts - ruled.refund, 0),
      scheduled_at = CASE WHEN ruled.verdict = 'QUEUED'
                     THEN clock.now + make_interval(secs =>
                       least(%(backoff_max)s, power(%(backoff_base)s, least(
                         CASE ruled.refund WHEN 0 THEN jobs.attempts ELSE jobs.snoozes + 1 END, 30)))
                       * (1 + random() * 0.1))
                     ELSE scheduled_at END,
      finished_at = CASE WHEN ruled.verdict = 'QUEUED' THEN NULL ELSE clock.now END,
      snoozes = CASE ruled.refund WHEN 0 THEN 0 ELSE jobs.snoozes + 1 END,
      lease_owner = NULL,
      lease_token = NULL,
      lease_expires_at = NULL,
      last_error = jsonb_build_object(
        'code', 'LEASE_EXPIRED', 'message', ruled.message,
        'retryable', true, 'attempt', jobs.attempts,
        'at', to_char(clock.now AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
        'detail', jsonb_build_object('locked_by', ruled.lease_owner)),
      fail_code = CASE ruled.refund WHEN 0 THEN 'LEASE_EXPIRED' ELSE jobs.fail_code END,
      fail_reason = CASE ruled.refund WHEN 0 THEN 'lease expired' ELSE jobs.fail_reason END
  FROM ruled, clock
  WHERE jobs.job_id = ruled.job_id
    AND jobs.status = 'RUNNING' AND jobs.lease_expires_at <= clock.ended_by
  RETURNING jobs.job_id, jobs.type, jobs.queue, jobs.status, ruled.lease_owner, ruled.attempt, ruled.stage, ruled.refund
),
noted AS (
  INSERT INTO job_events (job_id, at, type, data)
  SELECT moved.job_id, clock.now, kind.name, jsonb_build_object(
    'type', kind.name, 'table', 'jobs',
    'details', jsonb_build_object('reason', CASE moved.refund WHEN 0 THEN 'lease_expired' ELSE 'never_begun' END,
                                  'locked_by', moved.lease_owner, 'attempt', moved.attempt, 'stage', moved.stage),
    'at', to_char(clock.now AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))
  FROM moved, clock,
       LATERAL (SELECT CASE moved.status WHEN 'QUEUED' THEN 'reaper:requeued'
                                         WHEN 'CANCELLED' THEN 'job:cancelled'
                                         ELSE 'reaper:dead_lettered' END AS name) AS kind
)
SELECT job_id, type, queue, status, lease_owner, attempt FROM moved
