-- Some jobs, as whoever waits for them wants to know them.
SELECT job_id, type, status, attempts, max_attempts, scheduled_at <= clock_timestamp() AS due, result, last_error
FROM jobs
WHERE job_id = ANY (%(job_ids)s::uuid[])
