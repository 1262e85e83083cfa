INSERT INTO job_events (job_id, at, type, data)
SELECT job_id, started_at + attempt * interval '1 second',
       CASE WHEN attempt < attempts OR status = 'QUEUED' THEN 'job:retried' WHEN status = 'FAILED' THEN 'job:failed'
            ELSE 'job:dead_lettered' END,
       jsonb_build_object('attempt', attempt, 'code', fail_code, 'locked_by', 'worker-' || attempt)
FROM jobs CROSS JOIN LATERAL generate_series(1, attempts) AS attempt
WHERE fail_code IS NOT NULL
UNION ALL
SELECT job_id, finished_at, 'job:cancelled', jsonb_build_object('by', 'mira') FROM jobs WHERE status = 'CANCELLED'
