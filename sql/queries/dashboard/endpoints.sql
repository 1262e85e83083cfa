-- Endpoints, the newest first; their addresses are for their tenants alone.
SELECT e.webhook_endpoint_id, t.name AS tenant, e.tenant_id, e.status, e.max_attempts, e.failing_since, e.disabled_reason,
       e.created_at, e.former_until,
       ARRAY(SELECT s.event_type FROM webhook_subscriptions AS s
             WHERE s.tenant_id = e.tenant_id AND s.webhook_endpoint_id = e.webhook_endpoint_id AND s.active
             ORDER BY s.event_type) AS event_types
FROM webhook_endpoints AS e JOIN tenants AS t USING (tenant_id)
ORDER BY e.webhook_endpoint_id DESC
LIMIT 100
