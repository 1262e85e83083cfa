-- How many jobs ended well in each minute, the oldest first; of a minute at most so many are counted.
SELECT minute.at, counted.n
FROM generate_series(date_trunc('minute', clock_timestamp()) - make_interval(mins => %(minutes)s - 1),
                     date_trunc('minute', clock_timestamp()), interval '1 minute') AS minute (at)
CROSS JOIN LATERAL (
  SELECT count(*) AS n FROM (
    SELECT FROM jobs
    WHERE status IN ('SUCCEEDED', 'CANCELLED') AND finished_at >= minute.at AND finished_at < minute.at + interval '1 minute'
    LIMIT %(most)s) AS bounded
) AS counted
ORDER BY minute.at
