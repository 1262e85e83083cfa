-- Events in the order of their leaves, which never changes, from behind the last one seen.
SELECT l.leaf_index, e.event_id, e.occurred_at, e.event_type, e.aggregate_type, e.aggregate_id, e.aggregate_version,
       e.actor_id, e.payload_text, e.event_hash
FROM event_leaves AS l
JOIN events AS e ON e.tenant_id = l.tenant_id AND e.event_id = l.event_id
WHERE l.tenant_id = %(tenant_id)s AND l.leaf_index > %(after)s
ORDER BY l.leaf_index
LIMIT %(limit)s::bigint
