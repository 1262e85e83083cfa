-- Keep the watch over suspects for so many seconds more, or give it up with none. No row: it is somebody else's by now.
UPDATE suspect_watch
SET until = coalesce(%(now)s::timestamptz, clock_timestamp()) + make_interval(secs => %(seconds)s)
WHERE owner = %(watcher)s
RETURNING owner
