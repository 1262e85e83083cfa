-- Nothing is added when the same bytes came before with the same declaration.
INSERT INTO document_versions (tenant_id, document_id, sha256, kind, mime_type, number_format, mapping)
SELECT tenant_id, document_id, %(sha256)s, kind, %(mime_type)s, %(number_format)s, %(mapping)s
FROM documents
WHERE tenant_id = %(tenant_id)s AND kind = %(kind)s AND external_ref = %(external_ref)s
ON CONFLICT DO NOTHING
