-- Of every limited type as many tokens as jobs of it are due here, up to `wanted` and what its bucket holds. Nothing
-- due takes nothing and writes nothing. Says how many were taken, and for how long there is not one more. Who takes
-- from a bucket waits for nobody (sql/functions/rate_limits.sql).
WITH asked AS MATERIALIZED (
  SELECT type, per_second, burst, wanted
  FROM unnest(%(types)s::text[], %(per_second)s::double precision[], %(burst)s::double precision[], %(wanted)s::integer[])
       AS told (type, per_second, burst, wanted)
  WHERE NOT EXISTS (SELECT FROM job_pauses
                    WHERE kind = 'type' AND name = type
                      AND (expires_at IS NULL OR expires_at > coalesce(%(now)s::timestamptz, now())))
),
due AS MATERIALIZED (
  SELECT asked.*, (
    SELECT count(*) FROM (
      SELECT hit.job_id
      FROM unnest(%(queues)s::text[]) AS here (queue)
      CROSS JOIN (VALUES (0::smallint), (1::smallint), (2::smallint), (3::smallint)) AS level (priority)
      CROSS JOIN LATERAL (
        SELECT job_id FROM jobs
        WHERE status = 'QUEUED' AND (fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR attempts < 2) AND priority >= 0
          AND NOT %(suspects)s::boolean AND queue = here.queue AND type = asked.type AND priority = level.priority
          AND scheduled_at <= coalesce(%(now)s::timestamptz, now())
        ORDER BY scheduled_at, job_id
        LIMIT asked.wanted
      ) AS hit
      UNION ALL
      SELECT job_id FROM jobs
      WHERE status = 'QUEUED' AND fail_code = 'LEASE_EXPIRED' AND attempts >= 2
        AND %(suspects)s AND type = asked.type AND queue = ANY (%(queues)s::text[])
        AND scheduled_at <= coalesce(%(now)s::timestamptz, now())
      LIMIT asked.wanted
    ) AS few
  )::integer AS waiting
  FROM asked
)
SELECT got.key AS type, got.taken, due.waiting, got.wait_seconds
FROM (
  SELECT array_agg(type) AS types, array_agg(per_second) AS per_second, array_agg(burst) AS burst,
         array_agg(waiting) AS waiting
  FROM due
  WHERE waiting > 0
) AS asked
CROSS JOIN LATERAL bpc_take_tokens(types, per_second, burst, asked.waiting, %(now)s::timestamptz) AS got
JOIN due ON due.type = got.key
