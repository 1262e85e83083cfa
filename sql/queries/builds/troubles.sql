-- The jobs of a build that have given up, or were cancelled: a person has to look at them.
SELECT job_id, type, status, fail_code, fail_reason
FROM own_jobs
WHERE tenant_id = %(tenant_id)s AND correlation_id = %(correlation_id)s
  AND status IN ('FAILED', 'DEAD_LETTER', 'CANCELLED')
ORDER BY created_at
