-- How many jobs have ended well or were cancelled, by queue and type: reads the whole table.
SELECT queue, type, status, count(*) AS count, 0 AS due, min(finished_at) AS oldest
FROM jobs
WHERE status IN ('SUCCEEDED', 'CANCELLED')
GROUP BY queue, type, status
ORDER BY queue, type, status
