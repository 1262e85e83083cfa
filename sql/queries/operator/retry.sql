-- Run a dead letter or failure again.
SELECT bpc_retry_job(%(job_id)s)
