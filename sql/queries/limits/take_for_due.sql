-- Of every limited type as many tokens as jobs of it are due here, up to `wanted` and what its bucket holds. Nothing
-- due takes nothing and writes nothing. Says how many were taken, and for how long there is not one more. The
-- buckets are those of take.sql, locked in the order of their names.
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
),
taken AS (
  INSERT INTO rate_limits AS bucket (key, per_second, burst, tokens, taken, updated_at)
  SELECT due.type, due.per_second, due.burst, due.burst - got.tokens, got.tokens,
         coalesce(%(now)s::timestamptz, clock_timestamp())
  FROM due, LATERAL (SELECT least(due.waiting, floor(due.burst))::integer AS tokens) AS got
  WHERE due.waiting > 0
  ORDER BY due.type
  ON CONFLICT (key) DO UPDATE
  SET (per_second, burst, tokens, taken, updated_at) = (
    SELECT excluded.per_second, excluded.burst, held.tokens - got.tokens, got.tokens, clock.at
    FROM (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS at) AS clock,
         LATERAL (
           SELECT least(excluded.burst,
                        bucket.tokens + excluded.per_second
                          * greatest(0, extract(epoch FROM clock.at - bucket.updated_at)::double precision)) AS tokens
         ) AS held,
         LATERAL (
           SELECT least((SELECT waiting FROM due WHERE due.type = bucket.key), floor(held.tokens))::integer AS tokens
         ) AS got
  )
  RETURNING key, bucket.taken, greatest(0, (1 - tokens) / per_second) AS wait_seconds
)
SELECT key AS type, taken.taken, due.waiting, wait_seconds
FROM taken JOIN due ON due.type = taken.key
