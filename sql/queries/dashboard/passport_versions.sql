-- All versions of a passport, the newest first, each with the payload that it publishes.
SELECT passport_version_id, status, law_date, issued_at, created_at, rule_package_version_id, payload
FROM passport_versions
WHERE tenant_id = %(tenant_id)s AND passport_id = %(passport_id)s
ORDER BY created_at DESC, issued_at DESC, passport_version_id
LIMIT 50
