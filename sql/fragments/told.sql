  -- How attempts ended, as the worker tells it; most succeeded, and say no more than their result.
  SELECT job_id, lease_token, told.owner, coalesce(told.status, 'SUCCEEDED') AS status, coalesce(refund, 0) AS refund,
         coalesce(told.snoozes, 0) AS snoozes, delay_seconds, error, told.fail_code, told.fail_reason, told.result,
         told.spec_hash, event, coalesce(%(now)s::timestamptz, clock_timestamp()) AS at
  FROM json_to_recordset(%(ends)s::json)
    AS told (job_id uuid, lease_token uuid, owner text, status text, refund integer, snoozes integer,
             delay_seconds double precision, error text, fail_code text, fail_reason text, result text,
             spec_hash bytea, event text)
