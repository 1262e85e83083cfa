-- The job under an idempotency key, and how it stands.
SELECT job_id, status FROM own_jobs
WHERE tenant_id = %(tenant_id)s AND type = %(type)s AND idempotency_key = %(idempotency_key)s
