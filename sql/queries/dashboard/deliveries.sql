-- A page of deliveries, the newest first: ids are ordered by time.
SELECT d.webhook_delivery_id, t.name AS tenant, d.webhook_endpoint_id, d.event_type, d.status, d.http_status,
       d.error_message, d.created_at, d.delivered_at
FROM webhook_deliveries AS d JOIN tenants AS t USING (tenant_id)
WHERE (%(tenant_id)s::uuid IS NULL OR d.tenant_id = %(tenant_id)s)
  AND (%(status)s::text IS NULL OR d.status = %(status)s)
  AND (%(endpoint)s::uuid IS NULL OR d.webhook_endpoint_id = %(endpoint)s)
  AND (%(after)s::uuid IS NULL OR d.webhook_delivery_id < %(after)s)
ORDER BY d.webhook_delivery_id DESC
LIMIT %(page)s
