-- Where the chain ends, held until the commit, and the time after the wait for it; one row in any case.
SELECT clock_timestamp() AS now, head.aggregate_version, head.event_hash
FROM (VALUES (true)) AS always
LEFT JOIN LATERAL bpc_lock_event_head(%(aggregate_type)s, %(aggregate_id)s) AS head ON true
