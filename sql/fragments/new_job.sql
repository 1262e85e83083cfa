    (job_id, tenant_id, type, queue, priority, payload, max_attempts, scheduled_at, expected_duration_ms,
     idempotency_key, spec_hash, parent_job_id, correlation_id, traceparent)
  VALUES (%(job_id)s, %(tenant_id)s, %(type)s, %(queue)s, %(priority)s, %(payload)s::jsonb, %(max_attempts)s,
          coalesce(%(scheduled_at)s::timestamptz,
                   coalesce(%(now)s::timestamptz, now()) + make_interval(secs => %(delay_seconds)s::double precision)),
          %(expected_duration_ms)s, %(idempotency_key)s, %(spec_hash)s, %(parent_job_id)s, %(correlation_id)s,
          %(traceparent)s)
  ON CONFLICT DO NOTHING
  RETURNING job_id
