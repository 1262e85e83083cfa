-- When a job of the tenant became a dead letter, oldest first, and whether its chain of events tells it; one row without
-- a time when it never did, no row when there is no such job. job_events has each death, also after a retry; one that
-- somebody made by hand stands in the job's row alone. Of a job that died more than a hundred times, the last hundred:
-- each death has somebody who tells it, so the others are told.
SELECT job.type, job.status, told.died_at, death.attempt, death.code,
       EXISTS (
         SELECT FROM events
         WHERE tenant_id = job.tenant_id AND aggregate_type = 'job' AND aggregate_id = job.job_id
           AND event_type = 'JOB_DEAD_LETTERED' AND payload ->> 'died_at' = told.died_at) AS recorded
FROM jobs AS job
LEFT JOIN LATERAL (
  (SELECT at, coalesce(data ->> 'attempt', data #>> '{details,attempt}')::integer AS attempt,
          CASE type WHEN 'reaper:dead_lettered' THEN 'LEASE_EXPIRED' ELSE data ->> 'code' END AS code
   FROM job_events
   WHERE job_id = job.job_id AND type IN ('job:dead_lettered', 'reaper:dead_lettered')
   ORDER BY job_event_id DESC
   LIMIT 100)
  UNION ALL
  SELECT job.finished_at, job.attempts, job.fail_code
  WHERE job.status = 'DEAD_LETTER' AND job.finished_at IS NOT NULL AND NOT EXISTS (
    SELECT FROM job_events
    WHERE job_id = job.job_id AND at = job.finished_at AND type IN ('job:dead_lettered', 'reaper:dead_lettered'))
) AS death ON true
CROSS JOIN LATERAL (
  SELECT to_char(death.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS died_at
) AS told
WHERE job.job_id = %(job_id)s AND job.tenant_id = %(tenant_id)s
ORDER BY death.at
