  json_to_recordset(%(ends)s::json)  -- how attempts ended, as the worker tells it
    AS told (job_id uuid, lease_token uuid, owner text, status text, refund integer, snoozes integer,
             delay_seconds double precision, error text, fail_code text, fail_reason text, result text,
             spec_hash bytea, event text)
