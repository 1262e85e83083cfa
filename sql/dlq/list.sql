-- Dead letters and failures, newest first:  psql -f sql/dlq/list.sql
-- Only some of them:                        psql -v type=RUN_COMMAND -v code=COMMAND_FAILED -f sql/dlq/list.sql
\if :{?type} \else \set type '' \endif
\if :{?code} \else \set code '' \endif
SELECT job_id, tenant_id, type, status, fail_code, attempts, max_attempts, finished_at,
       left(last_error ->> 'message', 80) AS message
FROM jobs
WHERE status IN ('DEAD_LETTER', 'FAILED')
  AND (:'type' = '' OR type = :'type')
  AND (:'code' = '' OR fail_code = :'code')
ORDER BY finished_at DESC
LIMIT 100;
