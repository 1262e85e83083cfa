-- Dead letters by cause, for whoever may see jobs: of all tenants or of one, and for whoever speaks for a tenant of that
-- one, whatever he asks for. Each plan is made for its values: by the index of causes, of all or of a tenant.

CREATE OR REPLACE FUNCTION bpc_seen_tenant(wanted uuid) RETURNS uuid
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, {schema}, pg_temp
AS $$
BEGIN
  IF has_table_privilege(coalesce(NULLIF(current_setting('role'), 'none'), session_user), '{schema}.jobs', 'SELECT') THEN
    RETURN wanted;
  ELSIF bpc_tenant() IS NULL OR wanted IS DISTINCT FROM bpc_tenant() THEN
    RAISE EXCEPTION 'only who may see all jobs sees more than those of the tenant that the transaction has named'
      USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN wanted;
END
$$;

-- Cause by cause along the index, each with its newest as a sample, the newest cause first. Counts end at `most`.
CREATE OR REPLACE FUNCTION bpc_dead_causes(of_tenant uuid, of_status text, most integer)
RETURNS TABLE (status text, type text, code text, fingerprint text, count bigint, first_at timestamptz,
               last_at timestamptz, sample_id uuid, sample text, pattern text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
  SET plan_cache_mode = force_custom_plan
AS $$
#variable_conflict use_column
DECLARE
  seen uuid := bpc_seen_tenant(of_tenant);
BEGIN
  RETURN QUERY
  WITH RECURSIVE cause AS (
    (SELECT d.status, d.type, d.code, d.fingerprint FROM dead_jobs AS d
     WHERE (seen IS NULL OR d.tenant_id = seen) AND (of_status IS NULL OR d.status = of_status)
     ORDER BY d.status, d.type, d.code, d.fingerprint
     LIMIT 1)
    UNION ALL
    SELECT next.status, next.type, next.code, next.fingerprint
    FROM cause CROSS JOIN LATERAL (
      SELECT d.status, d.type, d.code, d.fingerprint FROM dead_jobs AS d
      WHERE (d.status, d.type, d.code, d.fingerprint) > (cause.status, cause.type, cause.code, cause.fingerprint)
        AND (seen IS NULL OR d.tenant_id = seen) AND (of_status IS NULL OR d.status = of_status)
      ORDER BY d.status, d.type, d.code, d.fingerprint
      LIMIT 1
    ) AS next
  ),
  newest AS (
    SELECT cause.status, cause.type, cause.code, cause.fingerprint, last.finished_at, last.job_id, last.message
    FROM (SELECT * FROM cause LIMIT 2000) AS cause
    CROSS JOIN LATERAL (
      SELECT d.finished_at, d.job_id, d.message FROM dead_jobs AS d
      WHERE d.status = cause.status AND d.type = cause.type AND d.code = cause.code
        AND d.fingerprint = cause.fingerprint AND (seen IS NULL OR d.tenant_id = seen)
      ORDER BY d.finished_at DESC, d.job_id DESC
      LIMIT 1
    ) AS last
    ORDER BY last.finished_at DESC, last.job_id
    LIMIT 100
  )
  SELECT n.status, n.type, n.code, n.fingerprint, counted.count, first.finished_at, n.finished_at, n.job_id,
         left(n.message, 400), bpc_cause_pattern(n.message)
  FROM newest AS n
  CROSS JOIN LATERAL (
    SELECT count(*) AS count FROM (
      SELECT FROM dead_jobs AS d
      WHERE d.status = n.status AND d.type = n.type AND d.code = n.code AND d.fingerprint = n.fingerprint
        AND (seen IS NULL OR d.tenant_id = seen)
      LIMIT most
    ) AS bounded
  ) AS counted
  CROSS JOIN LATERAL (
    SELECT d.finished_at FROM dead_jobs AS d
    WHERE d.status = n.status AND d.type = n.type AND d.code = n.code AND d.fingerprint = n.fingerprint
      AND (seen IS NULL OR d.tenant_id = seen)
    ORDER BY d.finished_at, d.job_id
    LIMIT 1
  ) AS first
  ORDER BY n.finished_at DESC, n.job_id;
END
$$;

REVOKE EXECUTE ON FUNCTION bpc_seen_tenant, bpc_dead_causes FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bpc_dead_causes TO bpc_operator, bpc_reader, bpc_app;
