-- The hashes of some leaves in their order, in a row, and the first whose event is gone or has another hash.
SELECT coalesce(string_agg(leaf.event_hash, '' ORDER BY leaf.leaf_index), '') AS hashes,
       min(leaf.leaf_index) FILTER (WHERE event.event_hash IS DISTINCT FROM leaf.event_hash) AS strange
FROM event_leaves AS leaf
LEFT JOIN events AS event ON event.event_id = leaf.event_id AND event.tenant_id = leaf.tenant_id
WHERE leaf.tenant_id = %(tenant_id)s AND leaf.leaf_index >= %(first)s AND leaf.leaf_index < %(last)s
