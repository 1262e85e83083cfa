-- The first failure since the last success.
UPDATE webhook_endpoints SET failing_since = clock_timestamp()
WHERE tenant_id = %(tenant_id)s AND webhook_endpoint_id = %(webhook_endpoint_id)s AND failing_since IS NULL
