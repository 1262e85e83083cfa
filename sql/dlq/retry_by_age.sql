-- Retry the dead letters that died longer ago than this, a page per call (repeat until it says 0):
--   psql -v older='1 hour' -f sql/dlq/retry_by_age.sql
SELECT bpc_retry_jobs(died_before => now() - :'older'::interval) AS retried;
