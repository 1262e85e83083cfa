-- Tokens that were taken a moment ago and not used; no bucket holds more than its burst.
WITH held AS MATERIALIZED (  -- in the order in which they are taken
  SELECT key FROM rate_limits WHERE key = ANY (%(types)s::text[]) ORDER BY key FOR UPDATE
)
UPDATE rate_limits AS bucket
SET tokens = least(bucket.burst, bucket.tokens + unused.tokens)
FROM unnest(%(types)s::text[], %(unused)s::integer[]) AS unused (type, tokens), held
WHERE bucket.key = unused.type AND held.key = bucket.key
