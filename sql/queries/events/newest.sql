-- The newest events of a tenant, newest first: their ids are in order of time.
SELECT event_id, occurred_at, event_type, aggregate_type, aggregate_id, aggregate_version, actor_id, payload,
       payload_hash, prev_event_hash, event_hash
FROM events
WHERE tenant_id = %(tenant_id)s
ORDER BY event_id DESC
LIMIT %(limit)s
