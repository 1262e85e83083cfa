-- What is signed of a version: the receipt without its signature.
SELECT receipt FROM passport_versions
WHERE tenant_id = %(tenant_id)s AND passport_version_id = %(passport_version_id)s
