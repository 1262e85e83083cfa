-- The tenant's hosts, newest first: the first is for new identifiers.
SELECT host, created_at FROM id_hosts WHERE tenant_id = %(tenant_id)s ORDER BY created_at DESC
