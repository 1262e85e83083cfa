-- How attempts ended, as the worker tells it, and their rows under their tokens. How these are locked, the statement says.
held AS MATERIALIZED (
  SELECT told.*, job.attempts AS attempt, job.max_attempts, job.cancel_requested_at
  FROM json_to_recordset(%(ends)s::json)
    AS told (job_id uuid, lease_token uuid, owner text, status text, refund integer, snoozes integer,
             delay_seconds double precision, error text, fail_code text, fail_reason text, result text,
             spec_hash bytea, event text)
  CROSS JOIN LATERAL (
    SELECT attempts, max_attempts, cancel_requested_at FROM jobs
    WHERE job_id = told.job_id AND lease_token = told.lease_token
      AND lease_owner IS NOT NULL  -- as good as the expiry, and without tempting the planner into its index
