-- After a lost answer to COMMIT: whose is the row now? FOR UPDATE waits for the old session's transaction.
SELECT lease_token, lease_expires_at IS NOT NULL AS leased, status
FROM jobs
WHERE job_id = %(job_id)s
FOR UPDATE
