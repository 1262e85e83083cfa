-- The endpoints that fail, or were switched off by it or by a person.
SELECT e.webhook_endpoint_id, t.name AS tenant, e.status, e.failing_since, e.disabled_reason
FROM webhook_endpoints AS e JOIN tenants AS t USING (tenant_id)
WHERE e.status = 'DISABLED' OR e.failing_since IS NOT NULL
ORDER BY coalesce(e.disabled_at, e.failing_since) DESC
LIMIT 10
