-- One delivery with what was sent and what the receiver answered to the last attempt.
SELECT d.webhook_delivery_id, t.name AS tenant, d.tenant_id, d.webhook_endpoint_id, d.event_id, d.event_type, d.status,
       d.http_status, d.error_message, d.created_at, d.delivered_at, d.response_headers::text AS response_headers,
       d.response_body, d.body
FROM webhook_deliveries AS d JOIN tenants AS t USING (tenant_id)
WHERE d.webhook_delivery_id = %(id)s
