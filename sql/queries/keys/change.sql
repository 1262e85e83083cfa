-- Nothing comes back when somebody else has changed it to the same.
UPDATE signing_keys SET status = %(status)s
WHERE tenant_id = %(tenant_id)s AND key_id = %(key_id)s AND status <> %(status)s
RETURNING key_id
