-- For how long the oldest claim of each queue and type has been running; NULL where none says when it began, or only
-- some moment that is none. Reads only what is leased, and leases that ended long ago, which may be many while somebody
-- holds a snapshot, not at all.
WITH clock AS MATERIALIZED (
  SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now
)
SELECT queue, type,
       extract(epoch FROM (SELECT now FROM clock) - min(started_at) FILTER (WHERE isfinite(started_at))
       )::double precision AS oldest_seconds
FROM jobs
WHERE lease_expires_at > (SELECT now FROM clock) - make_interval(secs => %(lease_seconds)s)
GROUP BY queue, type
