-- Take the watch over suspects for so many seconds, where nobody has it or its holder is late, and one is due that this
-- worker could run. Whoever has it starts the process that runs them; one in the whole fleet. Nobody waits for the row.
WITH clock AS MATERIALIZED (
  SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now
),
paused AS MATERIALIZED (
  SELECT ARRAY(SELECT kind || ' ' || name FROM job_pauses
               WHERE expires_at IS NULL OR expires_at > (SELECT now FROM clock)) AS names
),
free AS MATERIALIZED (
  SELECT only_row FROM suspect_watch
  WHERE (owner = %(watcher)s OR until <= (SELECT now FROM clock)) AND EXISTS (
    SELECT FROM jobs
    WHERE status = 'QUEUED' AND fail_code = 'LEASE_EXPIRED' AND attempts >= 2
      AND scheduled_at <= (SELECT now FROM clock)
      AND queue = ANY (%(queues)s::text[]) AND type = ANY (%(types)s::text[])
      AND NOT ARRAY['queue ' || queue, 'type ' || type, 'tenant ' || tenant_id] && (SELECT names FROM paused))
  FOR UPDATE SKIP LOCKED
)
UPDATE suspect_watch
SET owner = %(watcher)s, until = clock.now + make_interval(secs => %(seconds)s)
FROM free, clock
WHERE suspect_watch.only_row = free.only_row
RETURNING suspect_watch.owner
