-- Put many jobs into the queue, in their order. An idempotency key that is there already, or twice in one call,
-- gives the job that has it, and whether its payload is the same. No job in an answer: the other insert of that
-- key is not committed yet.
WITH told AS MATERIALIZED (
  SELECT place, job_id, type, queue, priority, payload::jsonb AS payload, max_attempts, scheduled_at, delay_seconds,
         expected_duration_ms, idempotency_key, spec_hash, parent_job_id, correlation_id, traceparent
  FROM unnest(%(job_id)s::uuid[], %(type)s::text[], %(queue)s::text[], %(priority)s::smallint[], %(payload)s::text[],
              %(max_attempts)s::integer[], %(scheduled_at)s::timestamptz[], %(delay_seconds)s::double precision[],
              %(expected_duration_ms)s::integer[], %(idempotency_key)s::text[], %(spec_hash)s::bytea[],
              %(parent_job_id)s::uuid[], %(correlation_id)s::text[], %(traceparent)s::text[])
       WITH ORDINALITY
       AS listed (job_id, type, queue, priority, payload, max_attempts, scheduled_at, delay_seconds,
                  expected_duration_ms, idempotency_key, spec_hash, parent_job_id, correlation_id, traceparent, place)
),
added AS (
  INSERT INTO jobs (job_id, tenant_id, type, queue, priority, payload, max_attempts, scheduled_at,
                    expected_duration_ms, idempotency_key, spec_hash, parent_job_id, correlation_id, traceparent)
  SELECT job_id, %(tenant_id)s::uuid, type, queue, priority, payload, max_attempts,
         coalesce(scheduled_at, coalesce(%(now)s::timestamptz, now()) + make_interval(secs => delay_seconds)),
         expected_duration_ms, idempotency_key, spec_hash, parent_job_id, correlation_id, traceparent
  FROM told
  ORDER BY place
  ON CONFLICT DO NOTHING
  RETURNING job_id, type, idempotency_key
)
SELECT coalesce(added.job_id, twin.job_id, there.job_id) AS job_id,
       added.job_id IS NOT NULL AS added,
       CASE
         WHEN added.job_id IS NOT NULL THEN true
         WHEN twin.job_id IS NOT NULL THEN (SELECT first.payload = told.payload FROM told AS first WHERE first.job_id = twin.job_id)
         ELSE bpc_same_payload(%(tenant_id)s::uuid, there.job_id, told.payload)
       END AS same
FROM told
LEFT JOIN added ON added.job_id = told.job_id
LEFT JOIN added AS twin ON added.job_id IS NULL
  AND twin.type = told.type AND twin.idempotency_key = told.idempotency_key
LEFT JOIN LATERAL (
  SELECT jobs.job_id FROM jobs
  WHERE jobs.tenant_id = %(tenant_id)s::uuid AND jobs.type = told.type AND jobs.idempotency_key = told.idempotency_key
  UNION ALL
  SELECT jobs.job_id FROM jobs WHERE jobs.job_id = told.job_id
  LIMIT 1
) AS there ON added.job_id IS NULL AND twin.job_id IS NULL
ORDER BY told.place
