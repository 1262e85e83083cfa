-- How many jobs the workers that have announced themselves can run at once, by queue and type.
SELECT queue, type, sum(concurrency)::bigint AS slots
FROM workers, unnest(queues) AS queue, unnest(types) AS type
WHERE expires_at > clock_timestamp()
GROUP BY queue, type
