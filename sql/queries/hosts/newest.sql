-- The host that new identifiers of the tenant stand under.
SELECT host FROM id_hosts WHERE tenant_id = %(tenant_id)s ORDER BY created_at DESC LIMIT 1
