-- What happened to one job, in order.
SELECT job_event_id, job_id, at, type, data::text AS data
FROM job_events
WHERE job_id = %(job_id)s
ORDER BY job_event_id
