-- The payload of a claim that it was too large to come with, while the claim holds. NULL: it is larger than any job's
-- may be, and was put here past the rule that says so.
SELECT CASE WHEN octet_length(read.text) <= 33554432 THEN read.text END AS payload
FROM (SELECT payload::text AS text FROM jobs
      WHERE job_id = %(job_id)s AND lease_token = %(lease_token)s AND lease_owner IS NOT NULL OFFSET 0) AS read
