-- What an operator does to jobs by hand: guarded by state, recorded with the name of the login.
-- Former release: keeps working.

CREATE FUNCTION bpc_retry_job(wanted uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
  found_status text;
BEGIN
  SELECT status INTO found_status FROM jobs WHERE job_id = wanted FOR UPDATE;
  IF found_status IS NULL THEN
    RAISE EXCEPTION 'no job %', wanted USING ERRCODE = 'no_data_found';
  ELSIF found_status NOT IN ('DEAD_LETTER', 'FAILED') THEN
    RAISE EXCEPTION 'job % is %: only DEAD_LETTER and FAILED can be retried', wanted, found_status
      USING ERRCODE = 'check_violation';
  END IF;
  UPDATE jobs SET status = 'QUEUED', attempts = 0 WHERE job_id = wanted;
END
$$;

-- One page; returns how many were retried, so call it until it returns 0. NULL = any.
CREATE FUNCTION bpc_retry_jobs(of_type text, with_code text, page integer DEFAULT 500) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
  moved integer;
BEGIN
  IF of_type IS NULL AND with_code IS NULL THEN
    RAISE EXCEPTION 'give a type, a code or both' USING ERRCODE = 'null_value_not_allowed';
  END IF;
  UPDATE jobs SET status = 'QUEUED', attempts = 0
  WHERE job_id = ANY (ARRAY(
    SELECT job_id FROM jobs
    WHERE status = 'DEAD_LETTER'
      AND (of_type IS NULL OR type = of_type)
      AND (with_code IS NULL OR fail_code = with_code)
    ORDER BY finished_at
    LIMIT page
    FOR UPDATE SKIP LOCKED));
  GET DIAGNOSTICS moved = ROW_COUNT;
  RETURN moved;
END
$$;

CREATE FUNCTION bpc_discard_job(wanted uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
  found_status text;
BEGIN
  SELECT status INTO found_status FROM jobs WHERE job_id = wanted FOR UPDATE;
  IF found_status IS NULL THEN
    RAISE EXCEPTION 'no job %', wanted USING ERRCODE = 'no_data_found';
  ELSIF found_status NOT IN ('DEAD_LETTER', 'FAILED') THEN
    RAISE EXCEPTION 'job % is %: only DEAD_LETTER and FAILED can be discarded', wanted, found_status
      USING ERRCODE = 'check_violation';
  END IF;
  UPDATE jobs SET status = 'CANCELLED' WHERE job_id = wanted;
END
$$;

-- A queued job is cancelled at once; a running one is asked to stop and is CANCELLED when its worker heard.
CREATE FUNCTION bpc_cancel_job(wanted uuid) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
  found_status text;
BEGIN
  SELECT status INTO found_status FROM jobs WHERE job_id = wanted FOR UPDATE;
  IF found_status IS NULL THEN
    RAISE EXCEPTION 'no job %', wanted USING ERRCODE = 'no_data_found';
  ELSIF found_status = 'QUEUED' THEN
    UPDATE jobs SET status = 'CANCELLED', cancel_requested_at = clock_timestamp() WHERE job_id = wanted;
    RETURN 'CANCELLED';
  ELSIF found_status = 'RUNNING' THEN
    UPDATE jobs SET cancel_requested_at = coalesce(cancel_requested_at, clock_timestamp()) WHERE job_id = wanted;
    INSERT INTO job_events (job_id, type, data)
    VALUES (wanted, 'job:cancel_requested', jsonb_build_object('by', session_user));
    PERFORM pg_notify('bpc_jobs', '');
    RETURN 'RUNNING';
  END IF;
  RETURN found_status;
END
$$;

REVOKE EXECUTE ON FUNCTION bpc_retry_job, bpc_retry_jobs, bpc_discard_job, bpc_cancel_job FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bpc_retry_job, bpc_retry_jobs, bpc_discard_job, bpc_cancel_job TO bpc_operator, bpc_app;
