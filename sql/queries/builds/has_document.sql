-- Whether the build rests on this very version, under whatever name.
SELECT external_ref FROM passport_build_documents
WHERE tenant_id = %(tenant_id)s AND build_id = %(build_id)s AND document_version_id = %(document_version_id)s
LIMIT 1
