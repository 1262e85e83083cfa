-- Write how many attempts ended, in one statement: settle.sql for each row. A row that somebody has locked, or that is
-- no longer ours, is missing from the answer, and is settled singly.
WITH held AS MATERIALIZED (
  SELECT told.*, job.attempts AS attempt, job.max_attempts, job.cancel_requested_at
  FROM
-- include: told
  CROSS JOIN LATERAL (
    SELECT attempts, max_attempts, cancel_requested_at FROM jobs
    WHERE job_id = told.job_id AND lease_token = told.lease_token
      AND lease_owner IS NOT NULL
    FOR UPDATE SKIP LOCKED) AS job
),
-- include: settled
SELECT lease_token, status FROM settled
