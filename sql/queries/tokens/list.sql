-- Tokens that were made, of one tenant or of all there are: those in force first, then the newest; one of them by its id,
-- or those of this name.
SELECT t.token_id, t.tenant_id, tenants.name AS tenant, t.name, t.scopes, t.audience, t.created_at, t.created_by,
       t.expires_at, u.last_used_at, t.revoked_at,
       CASE WHEN t.revoked_at IS NOT NULL THEN 'REVOKED' WHEN t.expires_at <= clock_timestamp() THEN 'EXPIRED'
            ELSE 'VALID' END AS state
FROM api_tokens AS t LEFT JOIN tenants USING (tenant_id) LEFT JOIN token_uses AS u USING (token_id)
WHERE (%(tenant_id)s::uuid IS NULL OR t.tenant_id = %(tenant_id)s)
  AND (%(id)s::uuid IS NULL AND %(named)s::text IS NULL OR t.token_id = %(id)s OR t.name = %(named)s)
ORDER BY t.revoked_at IS NOT NULL, t.expires_at <= clock_timestamp(), t.token_id DESC
LIMIT %(limit)s
