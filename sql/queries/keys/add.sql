-- Nothing comes back when the key id was there already.
INSERT INTO signing_keys (tenant_id, key_id, public_key) VALUES (%(tenant_id)s, %(key_id)s, %(public_key)s)
ON CONFLICT DO NOTHING
RETURNING key_id
