INSERT INTO status_lists (tenant_id, issuer, shuffle_key, allotted, open)
SELECT tenant_id, issuer, sha256('generated'), 131072, false FROM status_lists WHERE issuer = %s LIMIT 1
RETURNING status_list
