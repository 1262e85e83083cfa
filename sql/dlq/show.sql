-- One job and everything that happened to it:  psql -v job=UUID -f sql/dlq/show.sql
\x on
SELECT * FROM jobs WHERE job_id = :'job';
\x off
SELECT at, type, data FROM job_events WHERE job_id = :'job' ORDER BY job_event_id;
