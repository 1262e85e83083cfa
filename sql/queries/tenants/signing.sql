-- A tenant, and whether it is the first of those for whom no signing key of their own is configured: for that one the
-- installation's key is.
SELECT t.tenant_id, t.name, NOT EXISTS (
  SELECT FROM tenants AS o
  WHERE (o.created_at, o.tenant_id) < (t.created_at, t.tenant_id)
    AND o.name <> ALL (%(named)s::text[]) AND o.tenant_id::text <> ALL (%(named)s::text[])) AS is_first
FROM tenants AS t WHERE t.tenant_id = %(tenant_id)s
