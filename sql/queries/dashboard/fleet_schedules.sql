-- When each schedule last queued its jobs.
SELECT name, tick FROM schedule_ticks ORDER BY name LIMIT 100
