-- The jobs that came out of one.
SELECT job_id, type, status FROM jobs WHERE parent_job_id = %(job_id)s ORDER BY job_id LIMIT 1000
