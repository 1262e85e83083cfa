noted AS (
  INSERT INTO job_events (job_id, at, type, data)
  SELECT job_id, at,
         CASE status WHEN 'CANCELLED' THEN 'job:cancelled' WHEN 'DEAD_LETTER' THEN 'job:dead_lettered' ELSE event END,
         jsonb_build_object('attempt', attempt, 'code', fail_code, 'locked_by', owner)
         || CASE WHEN status = 'QUEUED' THEN jsonb_build_object('delay_s', coalesce(delay_seconds, 0)) ELSE '{}' END
  FROM settled
  WHERE status <> 'SUCCEEDED'
)
