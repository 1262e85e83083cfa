-- Claim nothing more of a queue, a type or a tenant (id or name); what runs goes on:
--   psql -v kind=type -v name=RUN_COMMAND -v reason='disk full' -v for='2 hours' -f sql/dlq/pause.sql
-- Without `for`: until it is resumed.
\if :{?for} \else \set for '' \endif
SELECT bpc_pause(:'kind', CASE WHEN :'kind' = 'tenant' THEN bpc_find_tenant(:'name')::text ELSE :'name' END,
                 :'reason', now() + nullif(:'for', '')::interval);
