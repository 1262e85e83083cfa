-- What runs now, the longest first; overdue by the factor of its type.
SELECT job_id, type, queue, lease_owner, attempts, max_attempts, stage, started_at, lease_expires_at,
       expected_duration_ms, clock.seconds,
       coalesce(clock.seconds * 1000 > expected_duration_ms
                * coalesce(own.factor, %(factor_of_others)s::double precision), false) AS overdue
FROM jobs
LEFT JOIN unnest(%(types)s::text[], %(factors)s::double precision[]) AS own (own_type, factor) ON own_type = jobs.type
CROSS JOIN LATERAL (SELECT extract(epoch FROM clock_timestamp() - started_at)::double precision AS seconds) AS clock
WHERE lease_expires_at IS NOT NULL
ORDER BY started_at, job_id
LIMIT %(page)s
