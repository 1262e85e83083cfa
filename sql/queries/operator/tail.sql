-- What happened after an event.
SELECT job_event_id, job_events.job_id, at, job_events.type, data::text AS data, jobs.type AS job_type
FROM job_events LEFT JOIN jobs USING (job_id)
WHERE job_event_id > %(after)s
  AND (%(job_id)s::uuid IS NULL OR job_events.job_id = %(job_id)s)
ORDER BY job_event_id
LIMIT %(page)s
