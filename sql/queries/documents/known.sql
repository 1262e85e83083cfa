-- These bytes with this declaration, if they came before.
SELECT v.document_version_id, v.document_id, d.kind, d.external_ref, v.sha256, v.mime_type, v.number_format,
       v.mapping, b.size AS bytes, v.status, v.created_at, v.errors
FROM document_versions AS v
JOIN documents AS d USING (tenant_id, document_id)
JOIN blobs AS b USING (tenant_id, sha256)
WHERE v.tenant_id = %(tenant_id)s AND v.sha256 = %(sha256)s AND v.kind = %(kind)s AND v.mime_type = %(mime_type)s
  AND coalesce(v.number_format, '') = coalesce(%(number_format)s, '') AND coalesce(v.mapping, '') = coalesce(%(mapping)s, '')
