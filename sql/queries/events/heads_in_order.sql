-- Where every chain of a tenant ends, in the order of events/in_order.
SELECT aggregate_type, aggregate_id, aggregate_version, event_hash
FROM event_heads
WHERE tenant_id = %(tenant_id)s
ORDER BY aggregate_type, aggregate_id
