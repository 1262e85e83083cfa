-- What happened to one job, in order; of a job that is tried for ever, what happened last.
SELECT job_event_id, at, type, data FROM (
  SELECT job_event_id, at, type, data::text AS data FROM job_events
  WHERE job_id = %(job_id)s
  ORDER BY job_event_id DESC
  LIMIT %(limit)s) AS last
ORDER BY job_event_id
