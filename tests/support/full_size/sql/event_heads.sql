INSERT INTO event_heads (tenant_id, aggregate_type, aggregate_id, aggregate_version, event_hash, occurred_at)
SELECT tenant_id, aggregate_type, aggregate_id, aggregate_version, event_hash, occurred_at
FROM events WHERE aggregate_version = %(version)s AND actor_id = 'login:generated'
