-- Fix one place of the payload of a dead letter and retry it; the old payload is kept in job_events. The value is JSON:
--   psql -v job=UUID -v path=options.depth -v value=3 -f sql/dlq/patch_and_retry.sql
--   psql -v job=UUID -v path=command -v value='"hello"' -f sql/dlq/patch_and_retry.sql
SELECT bpc_patch_and_retry(:'job', string_to_array(:'path', '.'), :'value');
