-- A tenant by name; the same name again is the same tenant.
WITH added AS (
  INSERT INTO tenants (name) VALUES (%(name)s) ON CONFLICT (name) DO NOTHING RETURNING tenant_id
)
SELECT tenant_id, true AS added FROM added
UNION ALL
SELECT tenant_id, false FROM tenants WHERE name = %(name)s AND NOT EXISTS (SELECT FROM added)
