-- Takes up to `wanted` tokens from each of these buckets, which fill by `per_second` up to `burst`; one that is new is
-- full. Says how many were taken, and for how long there is not one more. The clock is read with the row in hand, and
-- one that was set back fills nothing. Nobody waits here: a bucket that somebody holds, or is about to make, gives
-- nothing and is asked again soon, so that an open transaction stops no more than its own bucket. A bucket with the
-- name of a job type bounds claims: it is for those who claim.
CREATE OR REPLACE FUNCTION bpc_take_tokens(keys text[], per_second double precision[], burst double precision[],
                                           wanted integer[], as_of timestamptz DEFAULT NULL)
RETURNS TABLE (key text, taken integer, wait_seconds double precision)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
#variable_conflict use_column
DECLARE
  asked record;
  at timestamptz;
  filled double precision;
BEGIN
  IF EXISTS (SELECT FROM unnest(keys) AS named (key) WHERE named.key ~ '^[A-Z][A-Z0-9_]{2,63}$')
     AND NOT pg_has_role(session_user, 'bpc_worker', 'MEMBER') THEN
    RAISE EXCEPTION 'the tokens of job types are for workers'
      USING ERRCODE = 'insufficient_privilege', HINT = 'name a bucket that is no job type, such as producer';
  END IF;
  FOR asked IN
    SELECT * FROM unnest(keys, per_second, burst, wanted) AS told (key, per_second, burst, wanted) ORDER BY told.key
  LOOP
    SELECT least(asked.burst, bucket.tokens + CASE WHEN isfinite(bucket.updated_at) THEN asked.per_second
                   * greatest(0, extract(epoch FROM clock.at - bucket.updated_at)::double precision) ELSE 0 END),
           clock.at
    INTO filled, at
    FROM (SELECT * FROM rate_limits WHERE rate_limits.key = asked.key FOR UPDATE SKIP LOCKED) AS bucket,
         LATERAL (SELECT coalesce(as_of, clock_timestamp()) AS at) AS clock;
    IF NOT FOUND AND NOT EXISTS (SELECT FROM rate_limits WHERE rate_limits.key = asked.key)
       AND pg_try_advisory_xact_lock(hashtextextended('rate_limits.' || asked.key, 0)) THEN
      INSERT INTO rate_limits (key, per_second, burst, tokens, updated_at)
      VALUES (asked.key, asked.per_second, asked.burst, asked.burst, coalesce(as_of, clock_timestamp()))
      ON CONFLICT DO NOTHING
      RETURNING rate_limits.tokens, rate_limits.updated_at INTO filled, at;
    END IF;
    IF filled IS NULL THEN
      RETURN QUERY SELECT asked.key, 0, 0.25::double precision;
      CONTINUE;
    END IF;
    RETURN QUERY
    UPDATE rate_limits AS bucket
    SET per_second = asked.per_second, burst = asked.burst, tokens = filled - got.whole, updated_at = at
    FROM (SELECT greatest(0, least(asked.wanted, floor(filled)))::integer AS whole) AS got
    WHERE bucket.key = asked.key
    RETURNING bucket.key, got.whole, greatest(0, (1 - bucket.tokens) / bucket.per_second);
  END LOOP;
END
$$;

-- Tokens that were taken a moment ago and not used; no bucket holds more than its burst. Those of a bucket that somebody
-- holds come back by themselves, only later.
CREATE OR REPLACE FUNCTION bpc_give_back_tokens(keys text[], unused integer[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
WITH held AS MATERIALIZED (
  SELECT key FROM rate_limits WHERE key = ANY (keys) ORDER BY key FOR UPDATE SKIP LOCKED
)
UPDATE rate_limits AS bucket
SET tokens = least(bucket.burst, bucket.tokens + greatest(0, told.tokens))
FROM unnest(keys, unused) AS told (key, tokens), held
WHERE bucket.key = told.key AND held.key = bucket.key
$$;

REVOKE EXECUTE ON FUNCTION bpc_take_tokens, bpc_give_back_tokens FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bpc_take_tokens TO bpc_worker, bpc_producer, bpc_app;
GRANT EXECUTE ON FUNCTION bpc_give_back_tokens TO bpc_worker;
