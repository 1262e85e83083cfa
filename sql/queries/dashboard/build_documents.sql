-- The documents of a build, each with what is wrong with it.
SELECT d.external_ref AS file, d.kind, coalesce(v.status, 'WAITING') AS status, v.errors, d.document_version_id, d.mime_type,
       d.number_format
FROM passport_build_documents AS d
LEFT JOIN document_versions AS v USING (tenant_id, document_version_id)
WHERE d.build_id = %(build_id)s
ORDER BY coalesce(v.status, '') <> 'REJECTED', d.external_ref
