-- The lists of a tenant, full ones too.
SELECT status_list FROM status_lists WHERE tenant_id = %(tenant_id)s ORDER BY status_list
