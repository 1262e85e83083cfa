-- The endpoints of a tenant with what they have asked for; one of them by its id, or those with this address.
SELECT e.webhook_endpoint_id, e.url, e.status, e.max_attempts, e.public_key, e.former_until, e.failing_since,
       e.disabled_at, e.disabled_reason, e.created_at,
       ARRAY(SELECT s.event_type FROM webhook_subscriptions AS s
             WHERE s.tenant_id = e.tenant_id AND s.webhook_endpoint_id = e.webhook_endpoint_id AND s.active
             ORDER BY s.event_type) AS event_types
FROM webhook_endpoints AS e
WHERE e.tenant_id = %(tenant_id)s
  AND (%(id)s::uuid IS NULL AND %(url)s::text IS NULL OR e.webhook_endpoint_id = %(id)s OR e.url = %(url)s)
ORDER BY e.webhook_endpoint_id
