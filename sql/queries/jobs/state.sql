-- One job of a tenant, as whoever queued it wants to know it.
SELECT job_id, type, status, attempts, max_attempts, scheduled_at <= clock_timestamp() AS due, result, last_error
FROM own_jobs
WHERE tenant_id = %(tenant_id)s AND job_id = %(job_id)s
