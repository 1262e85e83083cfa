-- Nothing comes back when somebody else has judged it already.
UPDATE document_versions SET status = %(status)s, errors = %(errors)s::jsonb
WHERE tenant_id = %(tenant_id)s AND document_version_id = %(document_version_id)s AND status = 'UPLOADED'
RETURNING document_version_id
