-- Dead letters and failures, newest first:  psql -f sql/dlq/list.sql
-- Only some of them:  psql -v type=RUN_COMMAND -v code=COMMAND_FAILED -v tenant=acme -v newer='1 day' -v older='1 hour' -f …
\if :{?type} \else \set type '' \endif
\if :{?code} \else \set code '' \endif
\if :{?tenant} \else \set tenant '' \endif
\if :{?newer} \else \set newer '' \endif
\if :{?older} \else \set older '' \endif
SELECT job_id, tenant_id, type, status, fail_code, attempts, max_attempts, finished_at,
       left(last_error ->> 'message', 80) AS message
FROM bpc_dead_letters(
  of_type => nullif(:'type', ''), with_code => nullif(:'code', ''), of_tenant => bpc_find_tenant(:'tenant'),
  died_since => now() - nullif(:'newer', '')::interval, died_before => now() - nullif(:'older', '')::interval,
  failed_too => true)
ORDER BY finished_at DESC
LIMIT 100;
