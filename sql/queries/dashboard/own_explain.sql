-- Why a job of the tenant does not run; overdue by the factor of its type.
SELECT reason, message, until, remedy
FROM own_jobs AS job
LEFT JOIN unnest(%(types)s::text[], %(factors)s::double precision[]) AS own (own_type, factor) ON own_type = job.type
CROSS JOIN LATERAL bpc_explain_own_job(job.job_id, coalesce(own.factor, %(factor_of_others)s::double precision)) AS told
WHERE job.job_id = %(job_id)s
