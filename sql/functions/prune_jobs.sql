-- Looks at the next `page` jobs in the order of their ids and removes those that ended longer ago than their type
-- is kept, with their events. `kept_days` is {"TYPE": days, "*": days}; 0 days, or a type that is not named where
-- there is no "*", is kept for ever. A dead letter always is. One walk at a time: whoever comes second gets no row.
-- No index helps it, so none has to be kept up by every job that ends.
CREATE OR REPLACE FUNCTION bpc_prune_jobs(kept_days jsonb, page integer DEFAULT 1000, as_of timestamptz DEFAULT NULL)
RETURNS TABLE (looked_at integer, removed_jobs integer, removed_events integer, at_the_end boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
DECLARE
  begins_after uuid;
  last_id uuid;
  old_ids uuid[];
BEGIN
  SELECT after_id INTO begins_after FROM prune_progress FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN
    RETURN;
  END IF;

  WITH seen AS MATERIALIZED (
    SELECT job_id, type, status, finished_at FROM jobs WHERE job_id > begins_after ORDER BY job_id LIMIT page
  )
  SELECT count(*), (array_agg(seen.job_id ORDER BY seen.job_id DESC))[1],
         coalesce(array_agg(seen.job_id) FILTER (WHERE kept.days > 0
           AND seen.status IN ('SUCCEEDED', 'FAILED', 'CANCELLED')
           AND seen.finished_at < coalesce(as_of, now()) - make_interval(days => kept.days)), '{}')
  INTO looked_at, last_id, old_ids
  FROM seen,
       LATERAL (SELECT coalesce(kept_days ->> seen.type, kept_days ->> '*', '0')::integer AS days) AS kept;

  -- What was retried since it was seen stays.
  WITH gone AS (
    DELETE FROM jobs
    WHERE job_id = ANY (ARRAY(
      SELECT job_id FROM jobs
      WHERE job_id = ANY (old_ids) AND status IN ('SUCCEEDED', 'FAILED', 'CANCELLED')
      FOR UPDATE SKIP LOCKED))
    RETURNING job_id
  ),
  gone_events AS (
    DELETE FROM job_events USING gone WHERE job_events.job_id = gone.job_id RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone), (SELECT count(*) FROM gone_events) INTO removed_jobs, removed_events;

  at_the_end := looked_at < page;
  UPDATE prune_progress
  SET after_id = CASE WHEN at_the_end THEN '00000000-0000-0000-0000-000000000000' ELSE last_id END;
  RETURN NEXT;
END
$$;

REVOKE EXECUTE ON FUNCTION bpc_prune_jobs FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bpc_prune_jobs TO bpc_worker, bpc_operator;
