-- Tokens that are in use and end soon.
SELECT t.name, coalesce(tenants.name, '') AS tenant, t.expires_at,
       ceil(extract(epoch FROM t.expires_at - clock_timestamp()) / 86400)::integer AS days
FROM api_tokens AS t JOIN token_uses AS u USING (token_id) LEFT JOIN tenants USING (tenant_id)
WHERE t.revoked_at IS NULL AND t.expires_at > clock_timestamp()
  AND t.expires_at < clock_timestamp() + make_interval(days => %(days)s)
  AND u.last_used_at > clock_timestamp() - make_interval(days => %(days)s)
ORDER BY t.expires_at, t.name
LIMIT 100
