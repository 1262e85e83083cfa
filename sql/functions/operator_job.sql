-- What an operator does to one job by hand, and an owner to one of its tenant: guarded by state, recorded with the name of
-- the login.

-- The status of a job that is held until the transaction ends; another tenant's is not there.
CREATE OR REPLACE FUNCTION bpc_lock_job(wanted uuid) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, {schema}, pg_temp
AS $$
DECLARE
  found_status text;
BEGIN
  SELECT status INTO found_status FROM jobs
  WHERE job_id = wanted AND (tenant_id = bpc_tenant() OR bpc_acts_for_all()) FOR UPDATE;
  IF found_status IS NULL THEN
    RAISE EXCEPTION 'no job %', wanted USING ERRCODE = 'no_data_found';
  END IF;
  RETURN found_status;
END
$$;

-- Holds a dead letter or failure, so that it can be `done` to what the caller says.
CREATE OR REPLACE FUNCTION bpc_lock_dead_job(wanted uuid, done text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, {schema}, pg_temp
AS $$
DECLARE
  found_status text := bpc_lock_job(wanted);
BEGIN
  IF found_status NOT IN ('DEAD_LETTER', 'FAILED') THEN
    RAISE EXCEPTION 'job % is %: only DEAD_LETTER and FAILED can be %', wanted, found_status, done
      USING ERRCODE = 'check_violation';
  END IF;
END
$$;

CREATE OR REPLACE FUNCTION bpc_retry_job(wanted uuid) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
  SELECT bpc_lock_dead_job(wanted, 'retried');
  UPDATE jobs SET status = 'QUEUED', attempts = 0 WHERE job_id = wanted;
$$;

CREATE OR REPLACE FUNCTION bpc_discard_job(wanted uuid) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
  SELECT bpc_lock_dead_job(wanted, 'discarded');
  UPDATE jobs SET status = 'CANCELLED' WHERE job_id = wanted;
$$;

-- A queued job is cancelled at once; a running one is asked to stop and is CANCELLED when its worker heard.
CREATE OR REPLACE FUNCTION bpc_cancel_job(wanted uuid) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
DECLARE
  found_status text := bpc_lock_job(wanted);
BEGIN
  IF found_status = 'QUEUED' THEN
    UPDATE jobs SET status = 'CANCELLED', cancel_requested_at = clock_timestamp() WHERE job_id = wanted;
    RETURN 'CANCELLED';
  ELSIF found_status = 'RUNNING' THEN
    UPDATE jobs SET cancel_requested_at = coalesce(cancel_requested_at, clock_timestamp()) WHERE job_id = wanted;
    INSERT INTO job_events (job_id, type, data)
    VALUES (wanted, 'job:cancel_requested', jsonb_build_object('by', bpc_who()));
    PERFORM pg_notify('bpc_jobs', '');
  END IF;
  RETURN found_status;
END
$$;

REVOKE EXECUTE ON FUNCTION bpc_lock_job, bpc_lock_dead_job, bpc_retry_job, bpc_discard_job,
  bpc_cancel_job FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bpc_retry_job, bpc_discard_job, bpc_cancel_job TO bpc_operator, bpc_app;
