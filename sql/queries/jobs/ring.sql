-- Wake the workers that listen.
SELECT pg_notify('bpc_jobs', '')
