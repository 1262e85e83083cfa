-- The job under an idempotency key.
SELECT job_id FROM jobs
WHERE tenant_id = %(tenant_id)s AND type = %(type)s AND idempotency_key = %(idempotency_key)s
