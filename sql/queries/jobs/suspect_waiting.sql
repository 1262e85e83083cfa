-- Has a suspect been due for so long that a busy worker should empty itself for it? Not for one that is paused.
WITH clock AS MATERIALIZED (
  SELECT coalesce(%(now)s::timestamptz, now()) AS now
)
SELECT EXISTS (
  SELECT FROM jobs
  WHERE status = 'QUEUED' AND fail_code = 'LEASE_EXPIRED' AND attempts >= 2
    AND scheduled_at <= (SELECT now FROM clock) - make_interval(secs => %(patience_seconds)s)
    AND type = ANY (%(types)s::text[]) AND queue = ANY (%(queues)s::text[])
    AND NOT EXISTS (
      SELECT FROM job_pauses
      WHERE (expires_at IS NULL OR expires_at > (SELECT now FROM clock))
        AND (kind, name) IN (('queue', jobs.queue), ('type', jobs.type), ('tenant', jobs.tenant_id::text)))
) AS waiting
