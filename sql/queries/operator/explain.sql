-- Why a job does not run; overdue by the factor of its type.
SELECT reason, message, until, remedy
FROM jobs
LEFT JOIN unnest(%(types)s::text[], %(factors)s::double precision[]) AS own (own_type, factor) ON own_type = jobs.type
CROSS JOIN LATERAL bpc_explain_job(jobs.job_id, coalesce(own.factor, %(factor_of_others)s::double precision)) AS told
WHERE jobs.job_id = %(job_id)s
