-- Put one job into the queue. The same idempotency key again gives the job that is there already, and says
-- whether its payload is the same; the same job_id again (a repeated call after a lost answer) is one job.
WITH added AS (
  INSERT INTO jobs (job_id, tenant_id, type, queue, priority, payload, max_attempts, scheduled_at,
                    expected_duration_ms, idempotency_key, spec_hash, parent_job_id, correlation_id, traceparent)
  VALUES (%(job_id)s, %(tenant_id)s, %(type)s, %(queue)s, %(priority)s, %(payload)s::jsonb, %(max_attempts)s,
          coalesce(%(scheduled_at)s::timestamptz,
                   coalesce(%(now)s::timestamptz, now()) + make_interval(secs => %(delay_seconds)s::double precision)),
          %(expected_duration_ms)s, %(idempotency_key)s, %(spec_hash)s, %(parent_job_id)s, %(correlation_id)s,
          %(traceparent)s)
  ON CONFLICT DO NOTHING
  RETURNING job_id
)
SELECT job_id, true AS added, true AS same FROM added
UNION ALL
SELECT job_id, false, bpc_same_payload(job_id, %(payload)s::jsonb)
FROM jobs
WHERE NOT EXISTS (SELECT FROM added)
  AND (job_id = %(job_id)s
       OR (tenant_id = %(tenant_id)s AND type = %(type)s AND idempotency_key = %(idempotency_key)s))
