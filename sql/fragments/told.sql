-- How attempts ended, one row for each, as the worker tells it.
told AS MATERIALIZED (
  SELECT job_id, lease_token, owner, status, refund, snoozes, delay_seconds, error, fail_code, fail_reason, result,
         spec_hash, event
  FROM unnest(%(job_id)s::uuid[], %(lease_token)s::uuid[], %(lease_owner)s::text[], %(status)s::text[],
              %(refund)s::integer[], %(snoozes)s::integer[], %(delay_seconds)s::double precision[],
              %(error)s::text[], %(fail_code)s::text[], %(fail_reason)s::text[], %(result)s::text[],
              %(spec_hash)s::bytea[], %(event)s::text[])
       AS listed (job_id, lease_token, owner, status, refund, snoozes, delay_seconds, error, fail_code, fail_reason,
                  result, spec_hash, event)
),
