-- The trigger knows which way a status can go.
UPDATE passport_versions SET status = %(status)s
WHERE tenant_id = %(tenant_id)s AND passport_version_id = %(passport_version_id)s
