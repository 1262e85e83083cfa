-- The jobs that have been running for longer than their expected duration times the factor of their type, and,
-- once for each claim, an event about it. Reads only what is leased, and no leases that ended long ago.
WITH clock AS MATERIALIZED (
  SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now
),
late AS MATERIALIZED (
  SELECT job_id, type, queue, lease_owner, lease_token, stage, attempts, expected_duration_ms,
         extract(epoch FROM (SELECT now FROM clock) - started_at)::double precision AS running_seconds
  FROM jobs
  LEFT JOIN unnest(%(types)s::text[], %(factors)s::double precision[]) AS own (own_type, factor) ON own_type = type
  WHERE lease_expires_at > (SELECT now FROM clock) - make_interval(secs => %(lease_seconds)s)
    AND expected_duration_ms IS NOT NULL AND isfinite(started_at)
    AND started_at < (SELECT now FROM clock)
      - make_interval(secs => expected_duration_ms / 1000.0 * coalesce(factor, %(factor_of_others)s))
),
noted AS (
  INSERT INTO job_events (job_id, at, type, data)
  SELECT job_id, clock.now, 'job:overdue', jsonb_build_object(
    'claim', coalesce(lease_token::text, ''), 'locked_by', lease_owner, 'attempt', attempts, 'stage', stage,
    'expected_ms', expected_duration_ms, 'running_ms', round(running_seconds * 1000))
  FROM late, clock
  ON CONFLICT DO NOTHING
  RETURNING job_id
)
SELECT job_id, type, queue, lease_owner, running_seconds, job_id IN (SELECT noted.job_id FROM noted) AS new
FROM late
