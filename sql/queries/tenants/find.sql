-- A tenant by id or by name, and whether there is no other.
SELECT tenant_id, name, created_at, alone FROM bpc_tenant_named(%(wanted)s)
