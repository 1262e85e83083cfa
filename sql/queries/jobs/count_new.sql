-- How many of these jobs are not there yet, by id or by idempotency key; a key that is named twice is one job.
SELECT count(DISTINCT (told.type, coalesce(told.idempotency_key, told.job_id::text)))::integer AS new
FROM unnest(%(job_id)s::uuid[], %(type)s::text[], %(idempotency_key)s::text[]) AS told (job_id, type, idempotency_key)
WHERE NOT EXISTS (SELECT FROM jobs WHERE jobs.job_id = told.job_id)
  AND NOT EXISTS (
    SELECT FROM jobs
    WHERE jobs.tenant_id = %(tenant_id)s::uuid AND jobs.type = told.type AND jobs.idempotency_key = told.idempotency_key)
