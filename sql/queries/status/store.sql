-- Nothing comes back where a later one is there already.
UPDATE status_lists SET token = %(token)s, token_as_of = %(as_of)s, token_key_id = %(key_id)s
WHERE tenant_id = %(tenant_id)s AND status_list = %(status_list)s AND coalesce(token_as_of < %(as_of)s, true)
RETURNING status_list
