-- Let a paused queue, type or tenant go on; f when it was not paused:
--   psql -v kind=type -v name=RUN_COMMAND -f sql/dlq/resume.sql
SELECT bpc_resume(:'kind', CASE WHEN :'kind' = 'tenant' THEN bpc_find_tenant(:'name')::text ELSE :'name' END) AS resumed;
