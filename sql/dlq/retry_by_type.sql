-- Retry the dead letters of one type, a page per call (repeat until it says 0):
--   psql -v type=RUN_COMMAND -f sql/dlq/retry_by_type.sql
SELECT bpc_retry_jobs(:'type', NULL) AS retried;
