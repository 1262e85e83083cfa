CREATE OR REPLACE FUNCTION bpc_clock_text(moment timestamptz) RETURNS text
LANGUAGE sql STABLE
RETURN to_char(moment AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"');

-- A bucket is found empty only while somebody takes from it: one that nobody asks any more fills up.
CREATE OR REPLACE FUNCTION bpc_explain_limits(of_type text) RETURNS TABLE (message text, until timestamptz, remedy text)
LANGUAGE sql STABLE SET search_path = pg_catalog, {schema}, pg_temp
AS $$
SELECT format('no more than %2$s of %1$s may start in a second; the next one in %3$s s, and %4$s are due',
              of_type, bucket.per_second, round((held.wait)::numeric, 1),
              CASE WHEN due.n > 10000 THEN 'more than 10000' ELSE due.n::text END),
       held.now + make_interval(secs => held.wait),
       format('it runs by itself; to start more a second, raise rate_limits.%s of the workers', of_type)
FROM rate_limits AS bucket,
     LATERAL (SELECT clock_timestamp() AS now) AS clock,
     LATERAL (
       SELECT clock.now,
              (1 - bucket.tokens) / bucket.per_second
                - greatest(0, extract(epoch FROM clock.now - bucket.updated_at)::double precision) AS wait
     ) AS held,
     LATERAL (
       SELECT count(*) AS n FROM (
         SELECT FROM jobs
         WHERE status = 'QUEUED' AND (fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR attempts < 2)
           AND priority >= 0  -- so far what the index jobs_probe says
           AND type = of_type AND scheduled_at <= clock.now
         LIMIT 10001) AS bounded
     ) AS due
WHERE bucket.key = of_type AND held.wait > 0
$$;

REVOKE EXECUTE ON FUNCTION bpc_clock_text, bpc_explain_limits FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bpc_clock_text, bpc_explain_limits TO bpc_operator, bpc_reader;
