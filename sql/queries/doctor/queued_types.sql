-- Which types of jobs wait, how many, and since when.
SELECT j.type, count(*)::bigint AS jobs, extract(epoch FROM clock_timestamp() - min(j.scheduled_at))::float8 AS seconds
FROM jobs AS j
WHERE j.status = 'QUEUED'
GROUP BY j.type
ORDER BY j.type
