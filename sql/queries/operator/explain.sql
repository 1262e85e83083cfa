-- Why a job does not run.
SELECT reason, message, until, remedy FROM bpc_explain_job(%(job_id)s)
