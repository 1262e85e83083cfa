-- How much there is of every kind of job; dead since midnight, UTC.
SELECT queue, type, waiting, oldest_at, running, dead
FROM bpc_job_kinds(%(tenant_id)s::uuid, %(most)s, date_trunc('day', clock_timestamp() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC')
