-- The same of a tenant's own job.
SELECT job_event_id, at, type, data FROM (
  SELECT job_event_id, at, type, data::text AS data FROM own_job_events
  WHERE job_id = %(job_id)s
  ORDER BY job_event_id DESC
  LIMIT %(limit)s) AS last
ORDER BY job_event_id
