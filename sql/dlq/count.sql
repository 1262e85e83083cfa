-- How many dead letters retry_matching.sql or discard_matching.sql would touch; touches nothing:
--   psql -v type=RUN_COMMAND -v code=COMMAND_FAILED -v tenant=acme -v newer='1 day' -v older='1 hour' -f sql/dlq/count.sql
-- Each of the five may be left out.
\if :{?type} \else \set type '' \endif
\if :{?code} \else \set code '' \endif
\if :{?tenant} \else \set tenant '' \endif
\if :{?newer} \else \set newer '' \endif
\if :{?older} \else \set older '' \endif
SELECT type, fail_code, count(*), min(finished_at) AS oldest, max(finished_at) AS newest
FROM bpc_dead_letters(
  of_type => nullif(:'type', ''), with_code => nullif(:'code', ''), of_tenant => bpc_find_tenant(:'tenant'),
  died_since => now() - nullif(:'newer', '')::interval, died_before => now() - nullif(:'older', '')::interval)
GROUP BY type, fail_code
ORDER BY count(*) DESC;
