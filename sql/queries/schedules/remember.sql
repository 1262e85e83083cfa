-- The job of this tick is queued. A tick that another worker got to later stays, unless its day has not come.
INSERT INTO schedule_ticks (name, tick) VALUES (%(name)s, %(tick)s)
ON CONFLICT (name) DO UPDATE
SET tick = CASE WHEN schedule_ticks.tick < coalesce(%(now)s::timestamptz, clock_timestamp()) + interval '1 day'
           THEN greatest(schedule_ticks.tick, excluded.tick) ELSE excluded.tick END,
    taken_until = NULL
