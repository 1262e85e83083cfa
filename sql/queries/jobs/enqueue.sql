-- Put one job into the queue. The same idempotency key again gives the job that is there already, and says
-- whether its payload is the same; the same job_id again (a repeated call after a lost answer) is one job.
WITH added AS (
  INSERT INTO jobs
-- include: new_job
)
SELECT job_id, true AS added, true AS same FROM added
UNION ALL
SELECT job_id, false, bpc_same_payload(%(tenant_id)s, job_id, %(payload)s::jsonb)
FROM jobs
WHERE NOT EXISTS (SELECT FROM added)
  AND (job_id = %(job_id)s
       OR (tenant_id = %(tenant_id)s AND type = %(type)s AND idempotency_key = %(idempotency_key)s))
