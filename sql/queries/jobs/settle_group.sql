-- Write how many attempts ended, in one statement: settle.sql for each row. A row that somebody has locked, or that is
-- no longer ours, is missing from the answer, and is settled singly.
WITH
-- include: held
    FOR UPDATE SKIP LOCKED
  ) AS job
),
-- include: settled
SELECT lease_token, status FROM settled
