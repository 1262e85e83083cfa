-- Nothing comes back when the build expects no such document.
UPDATE passport_build_documents SET document_version_id = %(document_version_id)s
WHERE tenant_id = %(tenant_id)s AND build_id = %(build_id)s AND external_ref = %(external_ref)s
RETURNING external_ref
