-- What jobs died of, the newest cause first; counts end at `most`.
SELECT status, type, code, fingerprint, count, first_at, last_at, sample_id, sample, pattern
FROM bpc_dead_causes(%(tenant_id)s::uuid, %(status)s::text, %(most)s)
