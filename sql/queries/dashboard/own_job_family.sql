-- The same of a tenant's own job.
WITH RECURSIVE above AS (
  SELECT parent_job_id AS job_id, 1 AS steps FROM own_jobs WHERE job_id = %(job_id)s
  UNION ALL
  SELECT own_jobs.parent_job_id, above.steps + 1 FROM above JOIN own_jobs USING (job_id) WHERE above.steps < 20
)
(SELECT -above.steps AS steps, j.job_id, j.type, j.status FROM above JOIN own_jobs AS j USING (job_id))
UNION ALL
(SELECT 1, job_id, type, status FROM own_jobs WHERE parent_job_id = %(job_id)s ORDER BY job_id LIMIT 200)
ORDER BY steps DESC, job_id
