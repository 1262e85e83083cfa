-- How these jobs stand; those that were removed since they ended are missing.
SELECT job_id, status, jsonb_array_length(payload -> 'passport_ids') AS items, fail_code, fail_reason
FROM own_jobs
WHERE tenant_id = %(tenant_id)s AND job_id = ANY (%(job_ids)s::uuid[])
