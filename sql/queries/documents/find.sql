-- By the id of a version or its sha256; by a document's id or its name, the version that was sent last under that name.
SELECT v.document_version_id, v.document_id, d.kind, coalesce(n.external_ref, d.external_ref) AS external_ref, v.sha256,
       v.mime_type, v.number_format, v.mapping, b.size AS bytes, v.status, v.created_at,
       coalesce(v.errors, '[]') AS errors,
       (SELECT count(DISTINCT s.fact_id) FROM fact_sources AS s
        WHERE s.tenant_id = v.tenant_id AND s.document_version_id = v.document_version_id) AS facts
FROM document_versions AS v
JOIN documents AS d USING (tenant_id, document_id)
JOIN blobs AS b USING (tenant_id, sha256)
LEFT JOIN documents AS n
  ON n.tenant_id = v.tenant_id AND n.sent_version_id = v.document_version_id
  AND (n.external_ref = %(wanted)s OR n.document_id::text = lower(%(wanted)s))
WHERE v.tenant_id = %(tenant_id)s
  AND (lower(%(wanted)s) IN (v.document_version_id::text, encode(v.sha256, 'hex')) OR n.document_id IS NOT NULL
       OR (d.sent_version_id IS NULL AND (d.external_ref = %(wanted)s OR d.document_id::text = lower(%(wanted)s))))
ORDER BY lower(%(wanted)s) IN (v.document_version_id::text, encode(v.sha256, 'hex')) DESC,
         n.sent_at DESC NULLS LAST, v.created_at DESC, v.document_version_id DESC
LIMIT 1
