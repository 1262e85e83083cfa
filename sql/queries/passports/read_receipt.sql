-- What is signed of a version: the receipt without its signature, and what its view follows from beside it.
SELECT receipt, fields FROM passport_versions
WHERE tenant_id = %(tenant_id)s AND passport_version_id = %(passport_version_id)s
