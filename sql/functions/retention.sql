-- Whether a sweep is at work. It opens nothing by itself: no role but the owner's has DELETE on any of these.
CREATE OR REPLACE FUNCTION bpc_in_retention() RETURNS boolean
LANGUAGE sql STABLE
RETURN coalesce(current_setting('bpc.retention', true), '') = 'on';

-- From when on everything of that kind is kept. Nobody can ask for less than this, by no setting.
CREATE OR REPLACE FUNCTION bpc_retention_cut_off(kind text, kept_days integer) RETURNS timestamptz
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, {schema}, pg_temp
AS $$
DECLARE
  least integer := CASE kind WHEN 'passports' THEN 3650 ELSE 30 END;
BEGIN
  IF bpc_tenant() IS NULL THEN
    RAISE EXCEPTION 'retention works for one tenant: set bpc.tenant_id' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  IF kept_days IS NULL OR kept_days < least THEN
    RAISE EXCEPTION 'retention: % are kept for % days at least, not for %', kind, least, kept_days
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  RETURN now() - make_interval(days => kept_days);
END
$$;

-- Who removed how much, beside what the job tells in the audit trail: also where somebody calls a sweep by himself.
CREATE OR REPLACE FUNCTION bpc_tell_swept(step text, kept_days integer, removed jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, {schema}, pg_temp
AS $$
BEGIN
  IF EXISTS (SELECT FROM jsonb_each_text(removed) WHERE value::integer > 0) THEN
    INSERT INTO job_events (job_id, type, data)
    VALUES ('00000000-0000-0000-0000-000000000000', 'retention:swept', jsonb_build_object(
      'by', bpc_who(), 'tenant_id', bpc_tenant(), 'step', step, 'kept_days', kept_days, 'removed', removed));
  END IF;
END
$$;

REVOKE EXECUTE ON FUNCTION bpc_in_retention, bpc_retention_cut_off, bpc_tell_swept FROM PUBLIC;
