-- How a tenant is called.
SELECT name FROM tenants WHERE tenant_id = %(tenant_id)s
