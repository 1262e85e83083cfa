-- By an operator, at once, and nothing that is younger than thirty days. `anew`: from the beginning.
CREATE OR REPLACE FUNCTION bpc_prune_jobs(kept_days jsonb, page integer DEFAULT 1000, anew boolean DEFAULT false)
RETURNS TABLE (looked_at integer, removed_jobs integer, removed_events integer, at_the_end boolean)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
  SELECT * FROM bpc_remove_old_jobs(kept_days, 30, page, anew)
$$;

-- By workers, one page and a rest of nine times as long; one of the same length where the removal has not caught up for a
-- minute. All workers share the rest: whoever comes in it gets no row. `rest_seconds` says how long it is.
CREATE OR REPLACE FUNCTION bpc_prune_page(kept_days jsonb, page integer)
RETURNS TABLE (looked_at integer, removed_jobs integer, removed_events integer, at_the_end boolean,
               rest_seconds double precision)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
DECLARE
  began timestamptz := clock_timestamp();
BEGIN
  IF EXISTS (SELECT FROM prune_progress WHERE rests_until > began) THEN
    RETURN;
  END IF;
  FOR looked_at, removed_jobs, removed_events, at_the_end IN
    SELECT * FROM bpc_remove_old_jobs(kept_days, 1, page, false)
  LOOP
    UPDATE prune_progress
    SET rests_until = clock_timestamp() + (clock_timestamp() - began)
                      * CASE WHEN behind_since < now() - interval '1 minute' THEN 1 ELSE 9 END
    RETURNING extract(epoch FROM rests_until - clock_timestamp())::double precision INTO rest_seconds;
    RETURN NEXT;
  END LOOP;
END
$$;

REVOKE EXECUTE ON FUNCTION bpc_prune_jobs, bpc_prune_page FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bpc_prune_jobs TO bpc_operator;
GRANT EXECUTE ON FUNCTION bpc_prune_page TO bpc_worker;
