-- Nothing comes back when it was switched off already.
UPDATE webhook_endpoints SET status = 'DISABLED', disabled_at = clock_timestamp(), disabled_reason = %(reason)s
WHERE tenant_id = %(tenant_id)s AND webhook_endpoint_id = %(webhook_endpoint_id)s AND status = 'ACTIVE'
RETURNING webhook_endpoint_id
