-- The same work as a new job.
SELECT bpc_replay_job(%(job_id)s) AS job_id
