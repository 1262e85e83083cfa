-- The version is what the build wants under that name; nothing comes back when it is not, or not any more.
UPDATE passport_build_documents AS d SET document_version_id = v.document_version_id
FROM document_versions AS v
WHERE d.tenant_id = %(tenant_id)s AND d.build_id = %(build_id)s AND d.external_ref = %(external_ref)s
  AND v.tenant_id = d.tenant_id AND v.document_version_id = %(document_version_id)s
  AND (v.sha256, v.kind, v.mime_type, coalesce(v.number_format, ''), coalesce(v.mapping, ''))
    = (d.sha256, d.kind, d.mime_type, coalesce(d.number_format, ''), coalesce(d.mapping, ''))
RETURNING d.external_ref
