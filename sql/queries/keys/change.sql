UPDATE signing_keys SET status = %(status)s WHERE tenant_id = %(tenant_id)s AND key_id = %(key_id)s
