-- Take up to `wanted` tokens from a bucket that fills by `per_second` up to `burst`; one that is new is full.
-- Says how many were taken, and for how long there is not one more. Several at once queue on the row: none is
-- given twice. The clock is read with the row in hand, and one that was set back fills nothing.
INSERT INTO rate_limits AS bucket (key, per_second, burst, tokens, taken, updated_at)
SELECT %(key)s, full_bucket.per_second, full_bucket.burst, full_bucket.burst - got.tokens, got.tokens,
       coalesce(%(now)s::timestamptz, clock_timestamp())
FROM (SELECT %(per_second)s::double precision AS per_second, %(burst)s::double precision AS burst) AS full_bucket,
     LATERAL (SELECT least(%(wanted)s::integer, floor(full_bucket.burst))::integer AS tokens) AS got
ON CONFLICT (key) DO UPDATE
SET (per_second, burst, tokens, taken, updated_at) = (
  SELECT excluded.per_second, excluded.burst, held.tokens - got.tokens, got.tokens, clock.at
  FROM (SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS at) AS clock,
       LATERAL (
         SELECT least(excluded.burst,
                      bucket.tokens + excluded.per_second
                        * greatest(0, extract(epoch FROM clock.at - bucket.updated_at)::double precision)) AS tokens
       ) AS held,
       LATERAL (SELECT least(%(wanted)s::integer, floor(held.tokens))::integer AS tokens) AS got
)
RETURNING taken, greatest(0, (1 - tokens) / per_second) AS wait_seconds
