-- The builds that have this version.
SELECT b.build_id, b.state
FROM passport_build_documents AS d JOIN passport_builds AS b USING (tenant_id, build_id)
WHERE d.tenant_id = %(tenant_id)s AND d.document_version_id = %(document_version_id)s
ORDER BY b.build_id
