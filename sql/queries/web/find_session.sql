-- Whose session it is, and what it may do.
SELECT state, tenant_id, name, scopes, audience FROM bpc_find_session(%(hash)s)
