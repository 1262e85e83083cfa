-- What is paused, and who paused and resumed lately:  psql -f sql/dlq/pauses.sql
SELECT kind, name, reason, paused_by, paused_at, expires_at FROM job_pauses
WHERE expires_at IS NULL OR expires_at > now() ORDER BY kind, name;
SELECT at, action, kind, name, by, reason FROM job_pause_events ORDER BY job_pause_event_id DESC LIMIT 20;
