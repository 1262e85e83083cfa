-- The job of this tick is queued. A tick that another worker got to later stays.
INSERT INTO schedule_ticks (name, tick) VALUES (%(name)s, %(tick)s)
ON CONFLICT (name) DO UPDATE SET tick = greatest(schedule_ticks.tick, excluded.tick), taken_until = NULL
