-- A page of dead letters, and how many there are: of whom, says bpc_seen_tenant.

-- Those of one cause or of several, the newest first; after one of them, the next.
CREATE OR REPLACE FUNCTION bpc_dead_page(
  of_tenant uuid, of_status text, of_type text, with_code text, with_fingerprint text, died_since timestamptz,
  died_before timestamptz, after_at timestamptz, after_id uuid, page integer
) RETURNS TABLE (
  job_id uuid, tenant_id uuid, status text, type text, queue text, code text, fingerprint text, message text,
  attempts integer, max_attempts integer, created_at timestamptz, finished_at timestamptz
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
  SET plan_cache_mode = force_custom_plan
AS $$
#variable_conflict use_column
DECLARE
  seen uuid := bpc_seen_tenant(of_tenant);
BEGIN
  RETURN QUERY
  SELECT d.job_id, d.tenant_id, d.status, d.type, d.queue, d.code, d.fingerprint, d.message, d.attempts, d.max_attempts,
         d.created_at, d.finished_at
  FROM dead_jobs AS d
  WHERE (seen IS NULL OR d.tenant_id = seen)
    AND (of_status IS NULL OR d.status = of_status)
    AND (of_type IS NULL OR d.type = of_type)
    AND (with_code IS NULL OR d.code = with_code)
    AND (with_fingerprint IS NULL OR d.fingerprint = with_fingerprint)
    AND (died_since IS NULL OR d.finished_at >= died_since)
    AND (died_before IS NULL OR d.finished_at < died_before)
    AND (after_id IS NULL OR (d.finished_at, d.job_id) < (after_at, after_id))
  ORDER BY d.finished_at DESC, d.job_id DESC
  LIMIT page;
END
$$;

-- How many there are, as far as `most`.
CREATE OR REPLACE FUNCTION bpc_dead_count(
  of_tenant uuid, of_status text, of_type text, with_code text, with_fingerprint text, died_since timestamptz,
  died_before timestamptz, most integer
) RETURNS integer
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
  SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
  seen uuid := bpc_seen_tenant(of_tenant);
BEGIN
  RETURN (
    SELECT count(*) FROM (
      SELECT FROM dead_jobs AS d
      WHERE (seen IS NULL OR d.tenant_id = seen)
        AND (of_status IS NULL OR d.status = of_status)
        AND (of_type IS NULL OR d.type = of_type)
        AND (with_code IS NULL OR d.code = with_code)
        AND (with_fingerprint IS NULL OR d.fingerprint = with_fingerprint)
        AND (died_since IS NULL OR d.finished_at >= died_since)
        AND (died_before IS NULL OR d.finished_at < died_before)
      LIMIT most) AS bounded);
END
$$;

REVOKE EXECUTE ON FUNCTION bpc_dead_page, bpc_dead_count FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bpc_dead_page, bpc_dead_count TO bpc_operator, bpc_reader, bpc_app;
