-- Write how many attempts ended, in one statement: settle.sql for each row. A row that somebody has locked, or that is
-- no longer ours, is missing from the answer, and is settled singly.
WITH ends AS MATERIALIZED (
-- include: told
  CROSS JOIN LATERAL (
    SELECT FROM jobs
    WHERE job_id = told.job_id AND lease_token = told.lease_token
      AND lease_owner IS NOT NULL  -- as good as the expiry, and without tempting the planner into its index
    FOR UPDATE SKIP LOCKED) AS locked
),
-- include: settled
,
-- include: noted
SELECT lease_token, status FROM settled
