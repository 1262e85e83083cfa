-- Which types of jobs wait, how many, for how long (below zero: none is due yet), and whether a running worker has a
-- handler for them.
SELECT j.type, count(*)::bigint AS jobs, extract(epoch FROM clock_timestamp() - min(j.scheduled_at))::float8 AS seconds,
       EXISTS (SELECT FROM workers AS w
               WHERE w.expires_at > clock_timestamp() AND j.type = ANY (w.types)) AS handled
FROM jobs AS j
WHERE j.status = 'QUEUED'
GROUP BY j.type
ORDER BY j.type
