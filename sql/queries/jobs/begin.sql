-- Write that these claims begin now, before their handlers start: of an attempt that has to be begun, the reaper counts
-- none that was not (reap.sql). A row that somebody has locked, or that is no longer held under the token, is missing
-- from the answer: its handler does not start.
WITH mine AS MATERIALIZED (
  SELECT job_id FROM jobs
  WHERE job_id = ANY (%(job_ids)s::uuid[]) AND lease_token = ANY (%(lease_tokens)s::uuid[]) AND lease_owner IS NOT NULL
  FOR UPDATE SKIP LOCKED
)
UPDATE jobs SET begun_token = lease_token
WHERE job_id = ANY (ARRAY(SELECT job_id FROM mine))
RETURNING lease_token
