-- What the receiver answered to the last attempt, as it came.
SELECT response_headers, response_body, body FROM webhook_deliveries
WHERE tenant_id = %(tenant_id)s AND webhook_delivery_id = %(webhook_delivery_id)s
