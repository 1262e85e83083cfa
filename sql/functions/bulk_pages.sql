-- Up to so many of those that it is about.
CREATE OR REPLACE FUNCTION bpc_bulk_matching(wanted uuid, most integer) RETURNS SETOF uuid
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, {schema}, pg_temp SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
  asked bulk_acts;
BEGIN
  SELECT * INTO asked FROM bulk_acts WHERE bulk_act_id = wanted;
  RETURN QUERY
    SELECT d.job_id FROM dead_jobs AS d
    WHERE (asked.job_status IS NULL OR d.status = asked.job_status)
      AND (asked.tenant_id IS NULL OR d.tenant_id = asked.tenant_id)
      AND (asked.type IS NULL OR d.type = asked.type)
      AND (asked.code IS NULL OR d.code = asked.code)
      AND (asked.fingerprint IS NULL OR d.fingerprint = asked.fingerprint)
      AND (asked.died_since IS NULL OR d.finished_at >= asked.died_since)
      AND d.finished_at < asked.died_before
    LIMIT most;
END
$$;

-- One page: acts, counts and keeps the lease, all or nothing. What somebody else holds is passed over and comes later. No
-- row: it was stopped or has ended, or the lease is another's by now.
CREATE OR REPLACE FUNCTION bpc_bulk_page(wanted uuid, token uuid, page integer, lease_seconds double precision)
RETURNS TABLE (act_status text, act_touched integer, page_touched integer)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
DECLARE
  asked bulk_acts;
  matching uuid[];
  chosen uuid[];
BEGIN
  SELECT * INTO asked FROM bulk_acts
  WHERE bulk_act_id = wanted AND lease_token = token AND status = 'RUNNING' FOR UPDATE;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  PERFORM set_config('bpc.actor', coalesce(asked.actor, ''), true);  -- the events name who asked
  matching := ARRAY(SELECT bpc_bulk_matching(wanted, page));
  chosen := ARRAY(
    SELECT job_id FROM jobs
    WHERE job_id = ANY (matching) AND status IN ('DEAD_LETTER', 'FAILED') AND finished_at < asked.died_before
    FOR UPDATE SKIP LOCKED);
  UPDATE jobs SET status = CASE asked.act WHEN 'retry' THEN 'QUEUED' ELSE 'CANCELLED' END,
                  attempts = CASE asked.act WHEN 'retry' THEN 0 ELSE attempts END
  WHERE job_id = ANY (chosen);
  RETURN QUERY
    UPDATE bulk_acts
    SET touched = touched + cardinality(chosen),
        lease_expires_at = clock_timestamp() + make_interval(secs => lease_seconds),
        status = CASE WHEN cardinality(matching) > 0 THEN 'RUNNING' ELSE 'DONE' END,
        finished_at = CASE WHEN cardinality(matching) > 0 THEN NULL ELSE clock_timestamp() END
    WHERE bulk_act_id = wanted
    RETURNING status, touched, cardinality(chosen);
END
$$;

REVOKE EXECUTE ON FUNCTION bpc_bulk_matching, bpc_bulk_page FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bpc_bulk_page TO bpc_operator;
