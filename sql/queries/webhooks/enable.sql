-- With a clean slate: what failed before does not count. Nothing comes back when it was not switched off.
UPDATE webhook_endpoints
SET status = 'ACTIVE', disabled_at = NULL, disabled_reason = NULL, failing_since = NULL
WHERE tenant_id = %(tenant_id)s AND webhook_endpoint_id = %(webhook_endpoint_id)s AND status = 'DISABLED'
RETURNING webhook_endpoint_id
