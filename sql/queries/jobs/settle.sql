-- Write how an attempt ended, with its event; a row that somebody has locked is waited for. Zero rows: the lease is no
-- longer ours, so nothing may be kept.
-- With or_fail, zero rows are an error (a division by zero): a COMMIT that is already on its way keeps nothing then.
WITH
-- include: told
held AS MATERIALIZED (
  SELECT told.*, jobs.attempts AS attempt, jobs.max_attempts, jobs.cancel_requested_at
  FROM told JOIN jobs ON jobs.job_id = told.job_id AND jobs.lease_token = told.lease_token
  WHERE jobs.lease_owner IS NOT NULL  -- as good as the expiry, and without tempting the planner into its index
  FOR UPDATE OF jobs
),
-- include: settled
SELECT status, attempts FROM settled
UNION ALL
SELECT NULL, 1 / count(*)::integer FROM settled HAVING %(or_fail)s::boolean AND count(*) = 0
