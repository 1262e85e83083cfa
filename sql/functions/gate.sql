-- What keeps a version from coming into force, by the reports that were stored when it and its forerunner were
-- compiled. Of the first that is checked against the law's list: every point that is asked for and has no value, every
-- finding that stops. Of a later one: what the last one in force had and this one has lost. Rules without the list have
-- no gate, but take nothing from a battery whose passport was checked once. With the rights of whoever asks.
CREATE OR REPLACE FUNCTION bpc_gate(of_tenant uuid, of_version uuid) RETURNS TABLE (code text)
LANGUAGE sql STABLE SET search_path = pg_catalog, {schema}, pg_temp
AS $$
  WITH this AS (
    SELECT v.passport_id, convert_from(v.gaps, 'UTF8')::jsonb AS report FROM passport_versions AS v
    WHERE v.tenant_id = of_tenant AND v.passport_version_id = of_version
  ), former AS (
    SELECT told.report
    FROM this
    JOIN events AS e ON e.tenant_id = of_tenant AND e.aggregate_type = 'passport' AND e.aggregate_id = this.passport_id
      AND e.event_type = 'PASSPORT_ACTIVATED'
    JOIN passport_versions AS v ON v.tenant_id = of_tenant
      AND v.passport_version_id = (e.payload ->> 'passport_version_id')::uuid
    CROSS JOIN LATERAL (SELECT convert_from(v.gaps, 'UTF8')::jsonb AS report) AS told
    WHERE told.report ->> 'law' IS NOT NULL
    ORDER BY e.aggregate_version DESC LIMIT 1
  )
  SELECT stop.code FROM this CROSS JOIN LATERAL jsonb_array_elements_text(this.report -> 'stops') AS stop (code)
  WHERE NOT EXISTS (SELECT FROM former WHERE NOT former.report -> 'filled' ? stop.code)
  UNION ALL
  SELECT lost.code FROM this CROSS JOIN former
  CROSS JOIN LATERAL jsonb_array_elements_text(former.report -> 'filled') AS lost (code)
  WHERE this.report ->> 'law' IS NULL
$$;

-- What the gate holds back comes into force only after an event that somebody with bpc_release wrote.
CREATE OR REPLACE FUNCTION bpc_guard_gate() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
DECLARE
  stops text[] := ARRAY(SELECT code FROM bpc_gate(NEW.tenant_id, NEW.passport_version_id));
BEGIN
  IF cardinality(stops) > 0 AND NOT EXISTS (
    SELECT FROM events AS e
    WHERE e.tenant_id = NEW.tenant_id AND e.aggregate_type = 'passport' AND e.aggregate_id = NEW.passport_id
      AND e.event_type = 'PASSPORT_RELEASED' AND e.payload ->> 'passport_version_id' = NEW.passport_version_id::text) THEN
    RAISE EXCEPTION 'passport version % does not come into force: %', NEW.passport_version_id,
      array_to_string(stops, ', ') USING ERRCODE = 'restrict_violation', HINT = 'bpc-worker passport gaps says more.';
  END IF;
  RETURN NEW;
END
$$;

CREATE OR REPLACE FUNCTION bpc_guard_release() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, {schema}, pg_temp
AS $$
BEGIN
  IF NOT pg_has_role(session_user, 'bpc_release', 'MEMBER') THEN
    RAISE EXCEPTION 'the event is refused: % is no member of bpc_release', session_user
      USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN NEW;
END
$$;

REVOKE EXECUTE ON FUNCTION bpc_gate, bpc_guard_gate, bpc_guard_release FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bpc_gate TO bpc_worker, bpc_app;
