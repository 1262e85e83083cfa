-- How full the queue is, when schedules last ticked, what is overdue, and the removal of what is long finished.
-- Former release: keeps working.

-- Counted now and then by whichever worker's turn it is; every enqueue with a limit reads it.
CREATE TABLE queue_samples (
  tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
  queue     text NOT NULL,
  type      text NOT NULL,
  queued    bigint NOT NULL CHECK (queued >= 0),
  oldest_at timestamptz,  -- since when the first of them has been due; NULL: none is yet
  PRIMARY KEY (tenant_id, queue, type)
);
CREATE TABLE queue_totals (
  only_row   boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  queued     bigint NOT NULL DEFAULT 0 CHECK (queued >= 0),
  sampled_at timestamptz NOT NULL DEFAULT '1970-01-01Z'
);
INSERT INTO queue_totals DEFAULT VALUES;
GRANT SELECT, INSERT, UPDATE, DELETE ON queue_samples TO bpc_worker;
GRANT SELECT, UPDATE ON queue_totals TO bpc_worker;
GRANT SELECT ON queue_samples, queue_totals TO bpc_producer, bpc_operator, bpc_reader, bpc_app;

-- One event per claim, however many reapers see it.
CREATE UNIQUE INDEX job_events_overdue ON job_events (job_id, (data ->> 'claim')) WHERE type = 'job:overdue';

CREATE TABLE schedule_ticks (
  name text PRIMARY KEY CHECK (length(name) BETWEEN 1 AND 100),
  tick timestamptz NOT NULL  -- the last one whose job is queued
);
GRANT SELECT, INSERT, UPDATE ON schedule_ticks TO bpc_worker;
GRANT SELECT ON schedule_ticks TO bpc_operator, bpc_reader, bpc_app;

-- How far the removal has come on its way through the table.
CREATE TABLE prune_progress (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  after_id uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000'
);
INSERT INTO prune_progress DEFAULT VALUES;
GRANT SELECT ON prune_progress TO bpc_operator, bpc_reader, bpc_app;

-- Looks at the next `page` jobs in the order of their ids and removes those that ended longer ago than their type
-- is kept, with their events. `kept_days` is {"TYPE": days, "*": days}; 0 days, or a type that is not named where
-- there is no "*", is kept for ever. A dead letter always is. One walk at a time: whoever comes second gets no row.
-- No index helps it, so none has to be kept up by every job that ends.
CREATE FUNCTION bpc_prune_jobs(kept_days jsonb, page integer DEFAULT 1000, as_of timestamptz DEFAULT NULL)
RETURNS TABLE (looked_at integer, removed_jobs integer, removed_events integer, at_the_end boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
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
GRANT EXECUTE ON FUNCTION bpc_prune_jobs TO bpc_worker, bpc_operator, bpc_app;
