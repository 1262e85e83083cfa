-- How many jobs wait, by tenant, queue and type, and since when the first of them. Counted by whoever comes first
-- after `every_seconds`; the others get what was counted last. From one kind to the next by the index, and of none
-- more than `most`: a million waiting jobs cost no more than that many entries of it. A count that takes long, because
-- somebody holds a snapshot over all that has been claimed since, gets a tenth of the time. `handled`: somebody who has
-- announced himself takes such jobs.
WITH RECURSIVE clock AS MATERIALIZED (
  SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS now
),
turn AS MATERIALIZED (
  SELECT only_row FROM queue_totals
  WHERE sampled_at <= (SELECT now FROM clock) - make_interval(secs => greatest(%(every_seconds)s, 10 * took_seconds))
  FOR UPDATE SKIP LOCKED
),
kind AS (
  (SELECT tenant_id, queue, type FROM jobs
   WHERE status = 'QUEUED' AND (fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR attempts < 2) AND priority <= 3
     AND EXISTS (SELECT FROM turn)
   ORDER BY tenant_id, queue, type
   LIMIT 1)
  UNION ALL
  SELECT next.tenant_id, next.queue, next.type
  FROM kind
  CROSS JOIN LATERAL (
    SELECT tenant_id, queue, type FROM jobs
    WHERE status = 'QUEUED' AND (fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR attempts < 2) AND priority <= 3
      AND (jobs.tenant_id, jobs.queue, jobs.type) > (kind.tenant_id, kind.queue, kind.type)
    ORDER BY tenant_id, queue, type
    LIMIT 1
  ) AS next
),
counted AS MATERIALIZED (
  SELECT kind.tenant_id, kind.queue, kind.type, waiting.queued, head.oldest_at
  FROM kind
  CROSS JOIN LATERAL (
    SELECT count(*) AS queued FROM (
      SELECT FROM jobs
      WHERE status = 'QUEUED' AND (fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR attempts < 2) AND priority <= 3
        AND tenant_id = kind.tenant_id AND queue = kind.queue AND type = kind.type
      LIMIT %(most)s
    ) AS few
  ) AS waiting
  CROSS JOIN LATERAL (
    SELECT min(first.scheduled_at) AS oldest_at
    FROM (VALUES (0::smallint), (1::smallint), (2::smallint), (3::smallint)) AS level (priority)
    CROSS JOIN LATERAL (
      SELECT scheduled_at FROM jobs
      WHERE status = 'QUEUED' AND (fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR attempts < 2) AND priority <= 3
        AND tenant_id = kind.tenant_id AND queue = kind.queue AND type = kind.type
        AND priority = level.priority AND scheduled_at <= (SELECT now FROM clock)
      ORDER BY scheduled_at
      LIMIT 1
    ) AS first
  ) AS head
),
gone AS (
  DELETE FROM queue_samples AS old
  WHERE EXISTS (SELECT FROM turn)
    AND NOT EXISTS (SELECT FROM counted
                    WHERE (counted.tenant_id, counted.queue, counted.type) = (old.tenant_id, old.queue, old.type))
),
kept AS (
  INSERT INTO queue_samples (tenant_id, queue, type, queued, oldest_at)
  SELECT tenant_id, queue, type, queued, oldest_at FROM counted
  ON CONFLICT (tenant_id, queue, type) DO UPDATE SET queued = excluded.queued, oldest_at = excluded.oldest_at
),
total AS (
  UPDATE queue_totals
  SET sampled_at = (SELECT now FROM clock),
      (queued, took_seconds) = (SELECT coalesce(sum(counted.queued), 0),
                                       extract(epoch FROM clock_timestamp() - statement_timestamp())
                                FROM counted)
  WHERE EXISTS (SELECT FROM turn)
)
SELECT queue, type, sum(queued)::bigint AS queued,
       coalesce(extract(epoch FROM (SELECT now FROM clock) - min(oldest_at) FILTER (WHERE isfinite(oldest_at))), 0)
         ::double precision AS oldest_seconds,
       EXISTS (SELECT FROM workers
               WHERE expires_at > (SELECT now FROM clock)
                 AND known.type = ANY (workers.types) AND known.queue = ANY (workers.queues)) AS handled
FROM (
  SELECT queue, type, queued, oldest_at FROM counted
  UNION ALL
  SELECT queue, type, queued, oldest_at FROM queue_samples WHERE NOT EXISTS (SELECT FROM turn)
) AS known
GROUP BY queue, type
