-- Nothing comes back when the key id or the key was there already.
INSERT INTO signing_keys (tenant_id, key_id, public_key, purposes)
VALUES (%(tenant_id)s, %(key_id)s, %(public_key)s, %(purposes)s::text[])
ON CONFLICT DO NOTHING
RETURNING key_id
