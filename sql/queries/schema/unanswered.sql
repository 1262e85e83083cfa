-- Which of our statements that we gave up the server still carries out: by the number of its process, or,
-- behind a pooler, by the name that their transaction has.
SELECT pid, application_name AS mark
FROM pg_stat_activity
WHERE ((pid = ANY (%(pids)s::integer[]) AND application_name = current_setting('application_name'))
       OR application_name = ANY (%(marks)s::text[]))
  AND state IS DISTINCT FROM 'idle' AND pid <> pg_backend_pid()
