-- Of a tenant, or (NULL) for all tenants: what may be handed out is the function's to judge.
SELECT token_id, expires_at FROM bpc_create_token(
  %(tenant_id)s::uuid, %(name)s, %(token_hash)s, %(scopes)s::text[], %(audience)s,
  clock_timestamp() + make_interval(secs => %(seconds)s::double precision))
