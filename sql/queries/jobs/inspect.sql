-- What became of claims that a renewal did not find: still held (then it was merely locked), settled under
-- the same token, or somebody else's.
SELECT job_id, lease_token, status,
       lease_expires_at IS NOT NULL AS leased,
       coalesce(lease_expires_at > coalesce(%(now)s::timestamptz, clock_timestamp()), false) AS unexpired
FROM jobs
WHERE job_id = ANY (%(job_ids)s::uuid[])
