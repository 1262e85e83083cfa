-- Nothing happens when the same bytes are there already, whatever document they belong to.
INSERT INTO document_versions (tenant_id, document_id, sha256, mime_type, number_format, content)
SELECT tenant_id, document_id, %(sha256)s, %(mime_type)s, %(number_format)s, %(content)s
FROM documents
WHERE tenant_id = %(tenant_id)s AND kind = %(kind)s AND external_ref = %(external_ref)s
ON CONFLICT DO NOTHING
