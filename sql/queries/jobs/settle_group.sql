-- Write how many attempts ended, in one statement: settle.sql for each row. A row that somebody has locked, or that is
-- no longer ours, is missing from the answer, and is settled singly.
WITH
-- include: told
held AS MATERIALIZED (
  SELECT told.*, jobs.attempts AS attempt, jobs.max_attempts, jobs.cancel_requested_at
  FROM told JOIN jobs ON jobs.job_id = told.job_id AND jobs.lease_token = told.lease_token
  WHERE jobs.lease_owner IS NOT NULL
  FOR UPDATE OF jobs SKIP LOCKED
),
-- include: settled
SELECT lease_token, status FROM settled
