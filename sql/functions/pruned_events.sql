-- Under this id job_events has what concerns no single job.
CREATE OR REPLACE FUNCTION bpc_no_job() RETURNS uuid
LANGUAGE sql IMMUTABLE
RETURN '00000000-0000-0000-0000-000000000000'::uuid;

-- What was removed and by whom: one event for each login, each rule and each day, in which pages are added up.
CREATE OR REPLACE FUNCTION bpc_tell_pruned(kept_days jsonb, removed jsonb, removed_events integer) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, {schema}, pg_temp
AS $$
DECLARE
  told job_events;
BEGIN
  SELECT * INTO told FROM job_events
  WHERE job_id = bpc_no_job() AND type = 'jobs:pruned' AND at > now() - interval '1 day'
    AND data ->> 'by' = bpc_who() AND data -> 'kept_days' = kept_days
  ORDER BY job_event_id DESC
  LIMIT 1;
  IF NOT FOUND THEN
    INSERT INTO job_events (job_id, type, data) VALUES (bpc_no_job(), 'jobs:pruned', jsonb_build_object(
      'by', bpc_who(), 'kept_days', kept_days, 'jobs', removed, 'events', removed_events, 'until', now()));
    RETURN;
  END IF;
  UPDATE job_events
  SET data = data || jsonb_build_object(
    'events', (told.data ->> 'events')::bigint + removed_events, 'until', now(),
    'jobs', (SELECT jsonb_object_agg(type, jobs) FROM (
               SELECT key AS type, sum(value::bigint) AS jobs FROM (
                 SELECT * FROM jsonb_each_text(told.data -> 'jobs') UNION ALL SELECT * FROM jsonb_each_text(removed)
               ) AS pages GROUP BY key) AS summed))
  WHERE job_event_id = told.job_event_id;
END
$$;

REVOKE EXECUTE ON FUNCTION bpc_no_job, bpc_tell_pruned FROM PUBLIC;
