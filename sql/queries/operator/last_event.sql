-- The event before the last few of all jobs, or of one.
SELECT coalesce(min(job_event_id) - (%(lines)s::integer > 0)::integer, 0) AS after
FROM (
  SELECT job_event_id FROM job_events
  WHERE %(job_id)s::uuid IS NULL OR job_id = %(job_id)s
  ORDER BY job_event_id DESC
  LIMIT greatest(%(lines)s::integer, 1)
) AS last
