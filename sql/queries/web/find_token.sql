-- Whose token it is, and what it may do.
SELECT state, tenant_id, name, scopes, audience FROM bpc_find_token(%(hash)s)
