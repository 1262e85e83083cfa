-- The same inside a transaction that has named its tenant: no job of another's is added or seen.
WITH added AS (
  INSERT INTO own_jobs
-- include: new_job
)
SELECT job_id, true AS added, true AS same FROM added
UNION ALL
SELECT job_id, false, bpc_same_payload(%(tenant_id)s, job_id, %(payload)s::jsonb)
FROM own_jobs
WHERE NOT EXISTS (SELECT FROM added)
  AND (job_id = %(job_id)s
       OR (tenant_id = %(tenant_id)s AND type = %(type)s AND idempotency_key = %(idempotency_key)s))
