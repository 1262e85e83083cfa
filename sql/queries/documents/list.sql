-- The versions of all documents, newest first.
SELECT v.document_version_id, v.document_id, d.kind, d.external_ref, v.sha256, v.mime_type, v.number_format,
       v.mapping, b.size AS bytes, v.status, v.created_at,
       (SELECT count(DISTINCT s.fact_id) FROM fact_sources AS s
        WHERE s.tenant_id = v.tenant_id AND s.document_version_id = v.document_version_id) AS facts
FROM document_versions AS v
JOIN documents AS d USING (tenant_id, document_id)
JOIN blobs AS b USING (tenant_id, sha256)
WHERE v.tenant_id = %(tenant_id)s AND v.status = coalesce(%(status)s::text, v.status)
ORDER BY v.created_at DESC, v.document_version_id DESC
LIMIT %(limit)s
