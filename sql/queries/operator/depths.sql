-- How much of what is alive or dead, by queue, type and status. Each part has its index: the cost does not grow with
-- the jobs that have succeeded. (Waiting jobs are in two indexes: suspects, and all the others.)
WITH alive AS (
  SELECT queue, type, status, scheduled_at FROM jobs
  WHERE status = 'QUEUED' AND (fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR attempts < 2) AND priority >= 0
  UNION ALL
  SELECT queue, type, status, scheduled_at FROM jobs
  WHERE status = 'QUEUED' AND fail_code = 'LEASE_EXPIRED' AND attempts >= 2
  UNION ALL
  SELECT queue, type, status, started_at FROM jobs WHERE lease_expires_at IS NOT NULL
  UNION ALL
  SELECT queue, type, status, finished_at FROM jobs WHERE status IN ('DEAD_LETTER', 'FAILED')
)
SELECT queue, type, status, count(*) AS count,
       count(*) FILTER (WHERE status = 'QUEUED' AND scheduled_at <= clock_timestamp()) AS due,
       min(scheduled_at) FILTER (WHERE status <> 'QUEUED' OR scheduled_at <= clock_timestamp()) AS oldest
FROM alive
GROUP BY queue, type, status
ORDER BY queue, type, status
