-- Retry all dead letters that match, in pages, while workers run; count.sql first tells how many:
--   psql -v type=RUN_COMMAND -v code=COMMAND_FAILED -v tenant=acme -v newer='1 day' -v older='1 hour' -f sql/dlq/retry_matching.sql
-- Each of the five may be left out, but not all. What dies again meanwhile is left alone; stopped, it can be run again.
\if :{?type} \else \set type '' \endif
\if :{?code} \else \set code '' \endif
\if :{?tenant} \else \set tenant '' \endif
\if :{?newer} \else \set newer '' \endif
\if :{?older} \else \set older '' \endif
CALL bpc_all_dead('retry',
  of_type => nullif(:'type', ''), with_code => nullif(:'code', ''), of_tenant => bpc_find_tenant(:'tenant'),
  died_since => now() - nullif(:'newer', '')::interval, died_before => now() - nullif(:'older', '')::interval);
