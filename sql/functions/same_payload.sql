-- Lets a producer learn whether an idempotency key of that tenant stands for the same work, without reading payloads.
-- Whoever may not queue for every tenant asks about the one that his transaction has named.
DROP FUNCTION IF EXISTS bpc_same_payload(uuid, jsonb);
CREATE OR REPLACE FUNCTION bpc_same_payload(of_tenant uuid, wanted uuid, given jsonb) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
  SELECT payload = given FROM jobs
  WHERE job_id = wanted AND tenant_id = of_tenant
    AND (of_tenant = bpc_tenant()
         OR has_column_privilege(coalesce(NULLIF(current_setting('role'), 'none'), session_user),
                                 '{schema}.jobs', 'payload', 'INSERT'))
$$;

REVOKE EXECUTE ON FUNCTION bpc_same_payload FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bpc_same_payload TO bpc_producer, bpc_worker, bpc_app;
