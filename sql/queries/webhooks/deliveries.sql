-- Newest first; with how often the job was tried, as long as there is one. NULL = any. The ids become texts before the
-- jobs are looked up: only what cannot leak looks into an index behind the view.
WITH shown AS MATERIALIZED (
  SELECT d.webhook_delivery_id, d.webhook_endpoint_id, d.event_id, d.event_type, d.status, d.http_status,
         d.error_message, d.created_at, d.delivered_at, d.webhook_delivery_id::text AS key
  FROM webhook_deliveries AS d
  WHERE d.tenant_id = %(tenant_id)s
    AND (%(webhook_endpoint_id)s::uuid IS NULL OR d.webhook_endpoint_id = %(webhook_endpoint_id)s)
    AND (%(webhook_delivery_id)s::uuid IS NULL OR d.webhook_delivery_id = %(webhook_delivery_id)s)
    AND d.webhook_delivery_id < coalesce(%(after)s::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
    AND (%(status)s::text IS NULL OR d.status = %(status)s)
    AND (%(newer_seconds)s::double precision IS NULL
         OR d.created_at >= now() - make_interval(secs => %(newer_seconds)s::double precision))
  ORDER BY d.webhook_delivery_id DESC
  LIMIT %(limit)s
)
SELECT shown.webhook_delivery_id, shown.webhook_endpoint_id, shown.event_id, shown.event_type, shown.status,
       shown.http_status, shown.error_message, shown.created_at, shown.delivered_at, j.job_id, j.attempts, j.max_attempts,
       CASE WHEN j.status = 'QUEUED' THEN j.scheduled_at END AS next_attempt_at
FROM shown
LEFT JOIN LATERAL (
  SELECT own.job_id, own.attempts, own.max_attempts, own.status, own.scheduled_at FROM own_jobs AS own
  WHERE own.type = 'DELIVER_WEBHOOK' AND own.idempotency_key = shown.key
  LIMIT 1  -- a key is unique; said here, the planner asks once for each delivery instead of reading all jobs
) AS j ON true
ORDER BY shown.webhook_delivery_id DESC
