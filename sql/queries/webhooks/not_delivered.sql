-- What came of an attempt that did not work. When its job dies, the delivery is FAILED by that (migration 0012).
UPDATE webhook_deliveries
SET http_status = %(http_status)s, response_headers = %(response_headers)s::jsonb, response_body = %(response_body)s,
    error_message = %(error_message)s
WHERE tenant_id = %(tenant_id)s AND webhook_delivery_id = %(webhook_delivery_id)s AND status = 'PENDING'
