-- As queries/jobs/reap.sql, of another table with the lease columns. The only statement that is put together: {table}
-- is a name that was checked, {more} what is cleared besides where the table has it, {job_id} its job_id or NULL.
-- Such a table may have any key, so a row is named by where it is: it is locked, and cannot move meanwhile.
WITH clock AS MATERIALIZED (
  SELECT now, now - make_interval(secs => %(ended_for)s) AS ended_by
  FROM coalesce(%(now)s::timestamptz, clock_timestamp()) AS now
),
expired AS MATERIALIZED (
  SELECT ctid AS place, lease_owner, attempts AS attempt,
         CASE WHEN attempts < max_attempts THEN 'QUEUED' ELSE 'DEAD_LETTER' END AS verdict
  FROM {table}
  WHERE status = 'RUNNING' AND lease_expires_at <= (SELECT ended_by FROM clock)
    AND (SELECT now FROM clock) <= %(asked_at)s::timestamptz + make_interval(secs => %(within_seconds)s)
  ORDER BY lease_expires_at
  LIMIT %(page)s
  FOR UPDATE SKIP LOCKED
),
moved AS (
  UPDATE {table} AS job
  SET status = expired.verdict,
      scheduled_at = CASE WHEN expired.verdict = 'QUEUED'
                     THEN clock.now + make_interval(secs =>
                       least(%(backoff_max)s, power(%(backoff_base)s, least(job.attempts, 30)))
                       * (1 + random() * 0.1))
                     ELSE job.scheduled_at END,
      lease_owner = NULL,
      lease_expires_at = NULL{more}
  FROM expired, clock
  WHERE job.ctid = expired.place
    AND job.status = 'RUNNING' AND job.lease_expires_at <= clock.ended_by
  RETURNING {job_id} AS job_id, job.status, expired.lease_owner, expired.attempt
),
noted AS (
  INSERT INTO job_events (job_id, at, type, data)
  SELECT moved.job_id, clock.now, kind.name, jsonb_build_object(
    'type', kind.name, 'table', %(table_name)s::text,
    'details', jsonb_build_object('reason', 'lease_expired', 'locked_by', moved.lease_owner, 'attempt', moved.attempt),
    'at', to_char(clock.now AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))
  FROM moved, clock,
       LATERAL (SELECT CASE moved.status WHEN 'QUEUED' THEN 'reaper:requeued'
                                         ELSE 'reaper:dead_lettered' END AS name) AS kind
  WHERE moved.job_id IS NOT NULL
)
SELECT status FROM moved
