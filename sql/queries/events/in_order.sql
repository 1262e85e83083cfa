-- Every event of a tenant, chain by chain; a time that no event can have comes as NULL.
SELECT event_id, aggregate_type, aggregate_id, aggregate_version, event_type,
       CASE WHEN occurred_at >= '1970-01-01Z' AND occurred_at < '9999-01-01Z' THEN occurred_at END AS occurred_at,
       actor_id, payload_text, payload::text AS payload, payload_hash, prev_event_hash, event_hash
FROM events
WHERE tenant_id = %(tenant_id)s
ORDER BY aggregate_type, aggregate_id, aggregate_version
