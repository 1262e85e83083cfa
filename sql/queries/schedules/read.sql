-- What time it is, and the last tick of each of these schedules whose job is queued. The first row is no schedule.
SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS at, NULL AS name
UNION ALL
SELECT tick, name FROM schedule_ticks WHERE name = ANY (%(names)s::text[])
