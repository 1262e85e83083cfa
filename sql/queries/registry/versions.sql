-- The signed versions of a battery, newest first, by its unique identifier.
SELECT v.passport_version_id
FROM passport_versions AS v JOIN passports AS p USING (tenant_id, passport_id)
WHERE v.tenant_id = %(tenant_id)s AND p.unique_identifier = %(unique_identifier)s AND v.signature IS NOT NULL
ORDER BY v.created_at DESC, v.passport_version_id
