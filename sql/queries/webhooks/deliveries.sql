-- Newest first; with how often the job was tried, as long as there is one. NULL = any.
SELECT d.webhook_delivery_id, d.webhook_endpoint_id, d.event_id, d.event_type, d.status, d.http_status, d.error_message,
       d.created_at, d.delivered_at, j.job_id, j.attempts, j.max_attempts,
       CASE WHEN j.status = 'QUEUED' THEN j.scheduled_at END AS next_attempt_at
FROM webhook_deliveries AS d
LEFT JOIN jobs AS j ON j.tenant_id = d.tenant_id AND j.type = 'DELIVER_WEBHOOK'
  AND j.idempotency_key = d.webhook_delivery_id::text
WHERE d.tenant_id = %(tenant_id)s
  AND (%(webhook_endpoint_id)s::uuid IS NULL OR d.webhook_endpoint_id = %(webhook_endpoint_id)s)
  AND (%(webhook_delivery_id)s::uuid IS NULL OR d.webhook_delivery_id = %(webhook_delivery_id)s)
  AND (%(status)s::text IS NULL OR d.status = %(status)s)
  AND (%(newer_seconds)s::double precision IS NULL
       OR d.created_at >= now() - make_interval(secs => %(newer_seconds)s::double precision))
ORDER BY d.webhook_delivery_id DESC
LIMIT %(limit)s
