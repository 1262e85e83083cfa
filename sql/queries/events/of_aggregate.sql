-- The newest events of the chain with this id, newest first. Whoever asks need not know its type: the heads, far fewer
-- than the events, tell it.
SELECT event_id, occurred_at, event_type, aggregate_type, aggregate_id, aggregate_version, actor_id, payload,
       payload_hash, prev_event_hash, event_hash
FROM events
WHERE tenant_id = %(tenant_id)s AND aggregate_id = %(aggregate_id)s
  AND aggregate_type = ANY (ARRAY(SELECT aggregate_type FROM event_heads WHERE tenant_id = %(tenant_id)s
                                  AND aggregate_id = %(aggregate_id)s))
ORDER BY aggregate_version DESC
LIMIT %(limit)s
