-- Whose turn it is to queue the jobs of a tick: of many workers one gets a row. Who dies over it is followed by another.
UPDATE schedule_ticks
SET taken_until = clock.now + make_interval(secs => %(seconds)s::double precision)
FROM (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now) AS clock
WHERE name = %(name)s AND tick < %(tick)s AND coalesce(taken_until <= clock.now, true)
RETURNING name
