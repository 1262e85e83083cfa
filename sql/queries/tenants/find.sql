-- A tenant by id or by name.
SELECT tenant_id, name, created_at FROM tenants
WHERE tenant_id::text = lower(%(wanted)s) OR name = %(wanted)s
