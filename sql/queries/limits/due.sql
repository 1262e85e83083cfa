-- Is anything due here that a claim would find, and if not, in how many seconds will something be? It only reads: a
-- worker with rate limits asks this while it is idle, and takes tokens when there is somebody to use them. The process
-- of suspects asks about suspects, and does not wait for any; all others ask about all others.
WITH clock AS MATERIALIZED (
  SELECT coalesce(%(now)s::timestamptz, now()) AS now
),
paused AS MATERIALIZED (
  SELECT kind, name FROM job_pauses
  WHERE expires_at IS NULL OR expires_at > (SELECT now FROM clock)
),
place AS MATERIALIZED (
  SELECT queue, type, priority
  FROM unnest(%(queues)s::text[]) AS here (queue)
  CROSS JOIN unnest(%(types)s::text[]) AS handled (type)
  CROSS JOIN (VALUES (0::smallint), (1::smallint), (2::smallint), (3::smallint)) AS level (priority)
  WHERE NOT EXISTS (SELECT FROM paused WHERE (kind = 'queue' AND name = queue) OR (kind = 'type' AND name = type))
),
due AS MATERIALIZED (
  SELECT CASE WHEN NOT %(suspects)s::boolean THEN
    EXISTS (
      SELECT FROM place CROSS JOIN LATERAL (
        SELECT FROM jobs
        WHERE status = 'QUEUED' AND (fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR attempts < 2) AND priority >= 0
          AND queue = place.queue AND type = place.type AND priority = place.priority
          AND scheduled_at <= (SELECT now FROM clock)
          AND tenant_id::text <> ALL (ARRAY(SELECT name FROM paused WHERE kind = 'tenant'))
        LIMIT 1
      ) AS found)
    ELSE EXISTS (
      SELECT FROM jobs
      WHERE status = 'QUEUED' AND fail_code = 'LEASE_EXPIRED' AND attempts >= 2
        AND scheduled_at <= (SELECT now FROM clock)
        AND (queue, type) IN (SELECT queue, type FROM place)
        AND tenant_id::text <> ALL (ARRAY(SELECT name FROM paused WHERE kind = 'tenant')))
  END AS now
)
SELECT due.now AS due,
       CASE WHEN NOT due.now AND NOT %(suspects)s THEN (
         SELECT extract(epoch FROM min(later.scheduled_at) - (SELECT now FROM clock))::double precision
         FROM place CROSS JOIN LATERAL (
           SELECT scheduled_at FROM jobs
           WHERE status = 'QUEUED' AND (fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR attempts < 2) AND priority >= 0
             AND queue = place.queue AND type = place.type AND priority = place.priority
             AND scheduled_at > (SELECT now FROM clock)
           ORDER BY scheduled_at
           LIMIT 1
         ) AS later
       ) END AS next_due_in
FROM due
