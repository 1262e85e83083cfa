-- Whose jobs a schedule makes: the tenant of that id or name, or all. Nothing else of them is read.
SELECT tenant_id FROM tenants
WHERE %(wanted)s::text IS NULL OR tenant_id::text = lower(%(wanted)s) OR name = %(wanted)s
ORDER BY tenant_id::text = lower(%(wanted)s) DESC, name
