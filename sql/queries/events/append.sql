-- The trigger looks whether it is true, and moves the head, or says that another event came first.
INSERT INTO events (tenant_id, aggregate_type, aggregate_id, aggregate_version, event_type, occurred_at, actor_id,
                    payload_text, payload_hash, prev_event_hash, event_hash)
VALUES (%(tenant_id)s, %(aggregate_type)s, %(aggregate_id)s, %(aggregate_version)s, %(event_type)s, %(occurred_at)s,
        %(actor_id)s, %(payload)s, %(payload_hash)s, %(prev_event_hash)s, %(event_hash)s)
