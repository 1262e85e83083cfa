-- An owner's business is its own tenant; queues, types and other tenants are an operator's.
CREATE OR REPLACE FUNCTION bpc_check_may_pause(of_kind text, of_name text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, {schema}, pg_temp
AS $$
BEGIN
  IF (of_kind, of_name) IS DISTINCT FROM ('tenant', bpc_tenant()::text) AND NOT bpc_acts_for_all() THEN
    RAISE EXCEPTION 'only an operator pauses or resumes more than the tenant that the transaction has named'
      USING ERRCODE = 'insufficient_privilege', HINT = 'GRANT bpc_operator TO the login.';
  END IF;
END
$$;

-- Pausing what is paused changes reason and end.
CREATE OR REPLACE FUNCTION bpc_pause(of_kind text, of_name text, why text, until timestamptz DEFAULT NULL) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
  SELECT bpc_check_may_pause(of_kind, of_name);
  INSERT INTO job_pauses (kind, name, reason, expires_at) VALUES (of_kind, of_name, why, until)
  ON CONFLICT (kind, name) DO UPDATE
  SET reason = excluded.reason, expires_at = excluded.expires_at,
      paused_by = excluded.paused_by, paused_at = excluded.paused_at
$$;

-- Whether it was paused.
CREATE OR REPLACE FUNCTION bpc_resume(of_kind text, of_name text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
BEGIN
  PERFORM bpc_check_may_pause(of_kind, of_name);
  DELETE FROM job_pauses WHERE kind = of_kind AND name = of_name;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  PERFORM pg_notify('bpc_jobs', '');
  RETURN true;
END
$$;

CREATE OR REPLACE FUNCTION bpc_note_pause() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
DECLARE
  about job_pauses := CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
BEGIN
  INSERT INTO job_pause_events (action, kind, name, reason, expires_at)
  VALUES (CASE WHEN TG_OP = 'DELETE' THEN 'resumed' ELSE 'paused' END,
          about.kind, about.name, about.reason, about.expires_at);
  RETURN NULL;
END
$$;

REVOKE EXECUTE ON FUNCTION bpc_check_may_pause, bpc_pause, bpc_resume, bpc_note_pause FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bpc_pause, bpc_resume TO bpc_operator, bpc_app;
