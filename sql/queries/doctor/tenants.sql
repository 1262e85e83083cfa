-- Whose keys are looked at, and which of them is the first that has no signing key of its own.
SELECT t.tenant_id, t.name, NOT EXISTS (
  SELECT FROM tenants AS o
  WHERE (o.created_at, o.tenant_id) < (t.created_at, t.tenant_id)
    AND o.name <> ALL (%(named)s::text[]) AND o.tenant_id::text <> ALL (%(named)s::text[])) AS is_first
FROM tenants AS t ORDER BY t.name LIMIT 200
