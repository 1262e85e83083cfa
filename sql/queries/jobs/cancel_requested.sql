-- Which of these claims somebody wants cancelled. Asked once a second about the jobs that take longer: no lock, no write.
SELECT lease_token FROM jobs
WHERE job_id = ANY (%(job_ids)s::uuid[]) AND lease_token = ANY (%(lease_tokens)s::uuid[])
  AND lease_owner IS NOT NULL AND cancel_requested_at IS NOT NULL
