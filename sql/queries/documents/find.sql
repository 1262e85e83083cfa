-- By the id of a version or its sha256, or the newest version of a document, by its id or its name.
SELECT v.document_version_id, v.document_id, d.kind, d.external_ref, v.sha256, v.mime_type, v.number_format,
       b.size AS bytes, v.status, v.created_at, coalesce(v.errors, '[]') AS errors,
       (SELECT count(DISTINCT s.fact_id) FROM fact_sources AS s
        WHERE s.tenant_id = v.tenant_id AND s.document_version_id = v.document_version_id) AS facts
FROM document_versions AS v
JOIN documents AS d USING (tenant_id, document_id)
JOIN blobs AS b USING (tenant_id, sha256)
WHERE v.tenant_id = %(tenant_id)s
  AND (lower(%(wanted)s) IN (v.document_version_id::text, v.document_id::text, encode(v.sha256, 'hex'))
       OR d.external_ref = %(wanted)s)
ORDER BY lower(%(wanted)s) IN (v.document_version_id::text, encode(v.sha256, 'hex')) DESC,
         v.created_at DESC, v.document_version_id DESC
LIMIT 1
