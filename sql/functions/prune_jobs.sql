-- Removes old jobs that succeeded or were cancelled, with their events, a page at a time. `kept_days` is
-- {"TYPE": days, "*": days}; 0 days, or a type that is not named where there is no "*", is kept for ever. Dead letters and
-- failures always are, and so is what somebody did by hand: an event that names him in `by`, and its job.
-- For every name in `kept_days` the walk goes along the index of ends, from where it came to, up to the first row that is
-- too young; once a day it begins anew, for what was locked when it passed. One walk at a time: whoever comes second
-- gets no row. Time is the database's, and a job younger than the cut-off stays whatever its row says of its end.
CREATE OR REPLACE FUNCTION bpc_remove_old_jobs(kept_days jsonb, least_days integer, page integer, anew boolean)
RETURNS TABLE (looked_at integer, removed_jobs integer, removed_events integer, at_the_end boolean)
LANGUAGE plpgsql SET search_path = pg_catalog, {schema}, pg_temp
  -- Each row by its key, in the order of the index: what the planner knows of these tables may be from before they were
  -- filled, and a page that is sorted out of all that is old costs as much as all of it.
  SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET enable_hashjoin = off
  SET enable_mergejoin = off SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
  too_few text := (SELECT min(format('%s for %s', key, value)) FROM jsonb_each_text(kept_days)
                   WHERE value::integer <> 0 AND value::integer < least_days);
  progress prune_progress;
  kind record;
  seen record;
  gone record;
  removed jsonb := '{}';
BEGIN
  IF too_few IS NOT NULL THEN
    RAISE EXCEPTION 'jobs are kept for % days at least, not %', least_days, too_few
      USING ERRCODE = 'invalid_parameter_value';
  ELSIF page NOT BETWEEN 1 AND 10000 THEN
    RAISE EXCEPTION 'a page has 1 to 10000 jobs, not %', page USING ERRCODE = 'invalid_parameter_value';
  END IF;
  SELECT * INTO progress FROM prune_progress FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  IF anew OR progress.began_at < now() - interval '1 day' THEN
    progress.began_at := now();
    progress.reached := '{}';
  END IF;
  looked_at := 0;
  removed_jobs := 0;
  removed_events := 0;

  FOR kind IN SELECT key AS name, value::integer AS days, now() - make_interval(days => value::integer) AS cut_off
              FROM jsonb_each_text(kept_days) WHERE value::integer > 0 ORDER BY key LOOP
    EXIT WHEN looked_at >= page;
    WITH ended AS MATERIALIZED (
      SELECT job_id, type, created_at, finished_at FROM jobs
      WHERE status IN ('SUCCEEDED', 'CANCELLED') AND finished_at < kind.cut_off
        AND (finished_at, job_id) > (coalesce((progress.reached #>> ARRAY[kind.name, 'at'])::timestamptz, '-infinity'),
                                     coalesce((progress.reached #>> ARRAY[kind.name, 'id'])::uuid, bpc_no_job()))
      ORDER BY finished_at, job_id
      LIMIT page - looked_at
    )
    SELECT count(*) AS rows, max(ended.finished_at) AS last_at,
           (array_agg(ended.job_id ORDER BY ended.finished_at DESC, ended.job_id DESC))[1] AS last_id,
           array_agg(ended.job_id) FILTER (WHERE ended.created_at < kind.cut_off
             AND CASE kind.name WHEN '*' THEN NOT kept_days ? ended.type ELSE ended.type = kind.name END) AS old_ids
    INTO seen
    FROM ended;
    looked_at := looked_at + seen.rows;
    IF seen.rows > 0 THEN
      progress.reached := progress.reached
        || jsonb_build_object(kind.name, jsonb_build_object('at', seen.last_at, 'id', seen.last_id));
    END IF;

    WITH gone_jobs AS (
      DELETE FROM jobs
      WHERE job_id = ANY (ARRAY(
        SELECT job_id FROM jobs
        WHERE job_id = ANY (seen.old_ids)
          AND NOT EXISTS (SELECT FROM job_events WHERE job_events.job_id = jobs.job_id AND job_events.data ? 'by')
        FOR UPDATE SKIP LOCKED))
      RETURNING job_id, type
    ),
    gone_events AS (
      DELETE FROM job_events USING gone_jobs WHERE job_events.job_id = gone_jobs.job_id RETURNING 1
    )
    SELECT coalesce(sum(of_type.jobs), 0) AS jobs, (SELECT count(*) FROM gone_events) AS events,
           coalesce(jsonb_object_agg(of_type.type, of_type.jobs), '{}') AS by_type
    INTO gone
    FROM (SELECT type, count(*) AS jobs FROM gone_jobs GROUP BY type) AS of_type;
    removed_jobs := removed_jobs + gone.jobs;
    removed_events := removed_events + gone.events;
    removed := removed || gone.by_type;  -- no type is in two of them
  END LOOP;

  at_the_end := looked_at < page;
  UPDATE prune_progress
  SET reached = progress.reached, began_at = progress.began_at,
      behind_since = CASE WHEN NOT at_the_end THEN coalesce(behind_since, now()) END;
  IF removed_jobs > 0 THEN
    PERFORM bpc_tell_pruned(kept_days, removed, removed_events);
  END IF;
  RETURN NEXT;
END
$$;

REVOKE EXECUTE ON FUNCTION bpc_remove_old_jobs FROM PUBLIC;
