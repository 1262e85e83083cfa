-- The chain of one aggregate, oldest event first, each beside the head; a time that no event can have comes as NULL.
SELECT event.event_id, event.aggregate_type, event.aggregate_id, event.aggregate_version, event.event_type,
       CASE WHEN event.occurred_at >= '1970-01-01Z' AND event.occurred_at < '9999-01-01Z' THEN event.occurred_at END
         AS occurred_at,
       event.actor_id, event.payload::text AS payload, event.payload_hash, event.prev_event_hash, event.event_hash,
       head.aggregate_version AS head_version, head.event_hash AS head_hash
FROM events AS event
LEFT JOIN event_heads AS head USING (tenant_id, aggregate_type, aggregate_id)
WHERE event.tenant_id = %(tenant_id)s AND event.aggregate_type = %(aggregate_type)s
  AND event.aggregate_id = %(aggregate_id)s
ORDER BY event.aggregate_version
