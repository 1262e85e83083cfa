WITH taken AS (
  SELECT job_id, row_number() OVER () AS n FROM jobs WHERE status = 'QUEUED' AND scheduled_at < now() LIMIT 60
)
UPDATE jobs SET status = 'RUNNING', attempts = attempts + 1, lease_owner = 'worker-' || 1 + n % 12, lease_token = gen_random_uuid(),
  lease_expires_at = now() + interval '1 day', last_heartbeat_at = now(), started_at = now() - n * interval '2 seconds',
  stage = 'evaluating', progress = jsonb_build_object('percent', n)
FROM taken WHERE jobs.job_id = taken.job_id
