-- What happened to a passport, the newest first, and who was told of it.
SELECT e.event_id, e.occurred_at, e.event_type, e.actor_id,
       (SELECT count(*) FROM webhook_deliveries AS d WHERE d.event_id = e.event_id) AS told,
       (SELECT count(*) FROM webhook_deliveries AS d WHERE d.event_id = e.event_id AND d.status = 'DELIVERED') AS delivered
FROM events AS e
WHERE e.tenant_id = %(tenant_id)s AND e.aggregate_type = 'passport' AND e.aggregate_id = %(passport_id)s
ORDER BY e.aggregate_version DESC
LIMIT 100
