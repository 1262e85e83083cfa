-- The last word about a delivery. Nothing comes back when it had one.
UPDATE webhook_deliveries
SET status = 'DELIVERED', delivered_at = clock_timestamp(), http_status = %(http_status)s,
    response_headers = %(response_headers)s::jsonb, response_body = %(response_body)s, error_message = NULL
WHERE tenant_id = %(tenant_id)s AND webhook_delivery_id = %(webhook_delivery_id)s AND status = 'PENDING'
RETURNING webhook_delivery_id
