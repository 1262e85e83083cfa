-- Write how an attempt ended, with its event; a row that somebody has locked is waited for. Zero rows: the lease is no
-- longer ours, so nothing may be kept.
-- With or_fail, zero rows are an error (a division by zero): a COMMIT that is already on its way keeps nothing then.
WITH held AS MATERIALIZED (
  SELECT told.*, job.attempts AS attempt, job.max_attempts, job.cancel_requested_at
  FROM
-- include: told
  CROSS JOIN LATERAL (
    SELECT attempts, max_attempts, cancel_requested_at FROM jobs
    WHERE job_id = told.job_id AND lease_token = told.lease_token
      AND lease_owner IS NOT NULL  -- as good as the expiry, and without tempting the planner into its index
    FOR UPDATE) AS job
),
-- include: settled
SELECT status, attempts FROM settled
UNION ALL
SELECT NULL, 1 / count(*)::integer FROM settled HAVING %(or_fail)s::boolean AND count(*) = 0
