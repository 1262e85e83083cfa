-- Fix the payload of a dead letter or failure at `path` and retry it. The payload as it was goes into job_events.
-- Nothing else of the request changes; its spec_hash was that of the old payload and is made anew by the worker.
CREATE OR REPLACE FUNCTION bpc_patch_and_retry(wanted uuid, path text[], value jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
DECLARE
  found jobs;
  mended jsonb;
BEGIN
  PERFORM bpc_lock_dead_job(wanted, 'retried');
  SELECT * INTO found FROM jobs WHERE job_id = wanted;
  IF value IS NULL OR coalesce(cardinality(path), 0) = 0 OR array_position(path, NULL) IS NOT NULL THEN
    RAISE EXCEPTION 'give a path and a value' USING ERRCODE = 'null_value_not_allowed';
  END IF;
  BEGIN
    mended := jsonb_set(found.payload, path, value);
  EXCEPTION WHEN data_exception THEN
    NULL;  -- no number where a list wants one; a payload that is a mere text
  END;
  IF mended #> path IS DISTINCT FROM value THEN  -- or the way there is missing, or leads through a text
    RAISE EXCEPTION 'the payload of job % has no place %', wanted, array_to_string(path, '.')
      USING ERRCODE = 'check_violation', HINT = 'Only the last part of the path may be new.';
  END IF;
  INSERT INTO job_events (job_id, type, data) VALUES (wanted, 'job:payload_patched', jsonb_build_object(
    'by', bpc_who(), 'path', to_jsonb(path), 'value', value,
    'payload', found.payload, 'spec_hash', encode(found.spec_hash, 'hex')));
  UPDATE jobs SET payload = mended, spec_hash = NULL, status = 'QUEUED', attempts = 0 WHERE job_id = wanted;
END
$$;

-- The same work once more as a new job: type, payload, tenant, queue, priority. Not the idempotency key, which stands
-- for the first one; that becomes the parent.
CREATE OR REPLACE FUNCTION bpc_replay_job(wanted uuid) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
DECLARE
  found_status text := bpc_lock_job(wanted);
  made uuid;
BEGIN
  IF found_status IN ('QUEUED', 'RUNNING') THEN
    RAISE EXCEPTION 'job % is %: only a job that has ended can be replayed', wanted, found_status
      USING ERRCODE = 'check_violation';
  END IF;
  INSERT INTO jobs (tenant_id, type, queue, priority, payload, max_attempts, expected_duration_ms, spec_hash,
                    parent_job_id, correlation_id)
  SELECT tenant_id, type, queue, priority, payload, max_attempts, expected_duration_ms, spec_hash, job_id, correlation_id
  FROM jobs WHERE job_id = wanted
  RETURNING job_id INTO made;
  INSERT INTO job_events (job_id, type, data) VALUES
    (wanted, 'job:replayed', jsonb_build_object('by', bpc_who(), 'as', made)),
    (made, 'job:replay_of', jsonb_build_object('by', bpc_who(), 'of', wanted, 'from', found_status));
  RETURN made;
END
$$;

REVOKE EXECUTE ON FUNCTION bpc_patch_and_retry, bpc_replay_job FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bpc_patch_and_retry, bpc_replay_job TO bpc_operator;
