-- What a version lacks, as it was found when it was compiled.
SELECT gaps FROM passport_versions
WHERE tenant_id = %(tenant_id)s AND passport_version_id = %(passport_version_id)s
