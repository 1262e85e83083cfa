-- Whether the build expects a document of that name.
SELECT external_ref FROM passport_build_documents
WHERE tenant_id = %(tenant_id)s AND build_id = %(build_id)s AND external_ref = %(external_ref)s
