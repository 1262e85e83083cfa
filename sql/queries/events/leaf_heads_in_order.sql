-- How far every chain of a tenant has leaves, in the order of events/in_order.
SELECT aggregate_type, aggregate_id, aggregate_version, event_hash
FROM event_leaf_heads
WHERE tenant_id = %(tenant_id)s
ORDER BY aggregate_type, aggregate_id
