-- Cancel a job; what it is afterwards, or was already.
SELECT bpc_cancel_job(%(job_id)s) AS status
