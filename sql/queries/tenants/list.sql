-- All tenants, in order of name.
SELECT tenant_id, name, created_at FROM tenants ORDER BY name
