-- Whose rows a transaction may see. NULL, so nothing, unless the transaction has said it.
CREATE OR REPLACE FUNCTION bpc_tenant() RETURNS uuid
LANGUAGE sql STABLE PARALLEL SAFE
RETURN NULLIF(current_setting('bpc.tenant_id', true), '')::uuid;

-- Whether the caller may act on the jobs of all tenants: whoever may change the status of any job anyway (bpc_operator).
-- Others act on those of the tenant that their transaction has named. It is the login that counts, or the role that it
-- has taken on with SET ROLE: inside the functions that ask, everybody is the owner.
CREATE OR REPLACE FUNCTION bpc_acts_for_all() RETURNS boolean
LANGUAGE sql STABLE
RETURN has_column_privilege(
  coalesce(NULLIF(current_setting('role'), 'none'), session_user), '{schema}.jobs', 'status', 'UPDATE');

-- A tenant by id or name, for whoever can name it, and whether it is the only one. A producer cannot list the others.
CREATE OR REPLACE FUNCTION bpc_tenant_named(wanted text)
RETURNS TABLE (tenant_id uuid, name text, created_at timestamptz, alone boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
  SELECT t.tenant_id, t.name, t.created_at,
         NOT EXISTS (SELECT FROM tenants AS other WHERE other.tenant_id <> t.tenant_id)
  FROM tenants AS t
  WHERE t.tenant_id::text = lower(wanted) OR t.name = wanted
$$;

-- The same for scripts: an unknown one must not become "any".
CREATE OR REPLACE FUNCTION bpc_find_tenant(wanted text) RETURNS uuid
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, {schema}, pg_temp
AS $$
DECLARE
  found_id uuid;
BEGIN
  IF coalesce(wanted, '') = '' THEN
    RETURN NULL;
  END IF;
  SELECT tenant_id INTO found_id FROM tenants WHERE tenant_id::text = lower(wanted) OR name = wanted;
  IF found_id IS NULL THEN
    RAISE EXCEPTION 'no tenant %', wanted USING ERRCODE = 'no_data_found';
  END IF;
  RETURN found_id;
END
$$;

REVOKE EXECUTE ON FUNCTION bpc_tenant, bpc_acts_for_all, bpc_tenant_named, bpc_find_tenant FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bpc_tenant, bpc_tenant_named TO bpc_worker, bpc_producer, bpc_operator, bpc_reader, bpc_app;
GRANT EXECUTE ON FUNCTION bpc_find_tenant TO bpc_operator, bpc_reader, bpc_app;
