-- What time it is, and the last tick of each of these schedules whose job is queued. The first row is no schedule. A tick
-- of a day that has not come is none: it would keep its schedule quiet until then.
WITH clock AS MATERIALIZED (
  SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now
)
SELECT now AS at, NULL AS name FROM clock
UNION ALL
SELECT tick, name FROM schedule_ticks, clock
WHERE name = ANY (%(names)s::text[]) AND tick >= '1970-01-01Z' AND tick < now + interval '1 day'
