-- The public keys of the tenant that the transaction has named.
SELECT k.key_id, k.public_key, k.status, k.purposes
FROM signing_keys AS k WHERE k.tenant_id = bpc_tenant() ORDER BY k.key_id
