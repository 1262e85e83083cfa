-- The newest event of the audit trail.
SELECT e.event_id, e.occurred_at, e.event_type, t.name AS tenant
FROM events AS e JOIN tenants AS t USING (tenant_id)
ORDER BY e.event_id DESC
LIMIT 1
