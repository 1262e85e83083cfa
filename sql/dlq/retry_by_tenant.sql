-- Retry the dead letters of one tenant, by id or name, a page per call (repeat until it says 0):
--   psql -v tenant=acme -f sql/dlq/retry_by_tenant.sql
SELECT bpc_retry_jobs(of_tenant => bpc_find_tenant(:'tenant')) AS retried;
