-- For how long the oldest claim of each queue and type has been running; NULL where none says when it began, or only
-- some moment that is none. Reads only what is leased.
SELECT queue, type,
       extract(epoch FROM coalesce(%(now)s::timestamptz, clock_timestamp()) - min(started_at) FILTER (WHERE isfinite(started_at))
       )::double precision AS oldest_seconds
FROM jobs
WHERE lease_expires_at IS NOT NULL
GROUP BY queue, type
