-- Give up a dead letter or failure.
SELECT bpc_discard_job(%(job_id)s)
