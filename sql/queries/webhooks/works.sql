-- A success after failures.
UPDATE webhook_endpoints SET failing_since = NULL
WHERE tenant_id = %(tenant_id)s AND webhook_endpoint_id = %(webhook_endpoint_id)s AND failing_since IS NOT NULL
