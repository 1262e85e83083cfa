-- The keys of whoever signed it.
SELECT key_id, public_key, status, purposes FROM public_keys WHERE tenant_id = %(tenant_id)s ORDER BY key_id
