-- Retry one page of dead letters; how many.
SELECT bpc_retry_jobs(%(type)s, %(code)s, %(page)s, %(tenant_id)s, %(since)s, %(before)s, %(failed_too)s) AS touched
