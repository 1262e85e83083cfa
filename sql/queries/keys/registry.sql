-- The public keys of a tenant, by key id.
SELECT key_id, public_key, status, purposes FROM signing_keys WHERE tenant_id = %(tenant_id)s ORDER BY key_id
