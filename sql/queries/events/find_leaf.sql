-- An event of the tenant, and which leaf it is; of one that came after the last checkpoint, none.
SELECT event.event_id, event.aggregate_type, event.aggregate_id, event.aggregate_version, event.event_type,
       event.occurred_at, event.actor_id, event.payload_hash, event.prev_event_hash, event.event_hash, leaf.leaf_index
FROM events AS event
LEFT JOIN event_leaves AS leaf ON leaf.event_id = event.event_id
WHERE event.tenant_id = %(tenant_id)s AND event.event_id = %(event_id)s
