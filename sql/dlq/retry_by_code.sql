-- Retry the dead letters with one error code, a page per call (repeat until it says 0):
--   psql -v code=LEASE_EXPIRED -f sql/dlq/retry_by_code.sql
SELECT bpc_retry_jobs(NULL, :'code') AS retried;
