-- A tenant by id or by name.
SELECT tenant_id, name FROM tenants WHERE tenant_id::text = lower(%(wanted)s) OR name = %(wanted)s
