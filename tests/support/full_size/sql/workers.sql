INSERT INTO workers (worker_id, host, pid, release, types, queues, concurrency, started_at, seen_at, expires_at)
SELECT 'worker-' || n, 'host-' || n %% 4, 1000 + n, '0.1.0', %(types)s, '{default,bulk,signing,webhooks}', 10,
       now() - interval '3 days', now(), now() + interval '1 day'
FROM generate_series(1, 12) AS n
