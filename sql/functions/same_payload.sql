-- Lets a producer learn whether an idempotency key stands for the same work, without reading payloads.
CREATE OR REPLACE FUNCTION bpc_same_payload(wanted uuid, given jsonb) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$ SELECT payload = given FROM jobs WHERE job_id = wanted $$;

REVOKE EXECUTE ON FUNCTION bpc_same_payload FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bpc_same_payload TO bpc_producer, bpc_worker, bpc_app;
