-- By the id of a version, by that of a document the version that was sent last (or made), or by the hash of its bytes.
SELECT v.document_version_id, v.document_id, d.kind, coalesce(n.external_ref, d.external_ref) AS external_ref, v.sha256,
       v.mime_type, v.number_format, v.mapping, b.size AS bytes, v.status, v.created_at,
       coalesce(v.errors, '[]') AS errors,
       (SELECT count(DISTINCT s.fact_id) FROM fact_sources AS s
        WHERE s.tenant_id = v.tenant_id AND s.document_version_id = v.document_version_id) AS facts
FROM document_versions AS v
JOIN documents AS d USING (tenant_id, document_id)
JOIN blobs AS b USING (tenant_id, sha256)
LEFT JOIN documents AS n
  ON n.tenant_id = v.tenant_id AND n.document_id = %(id)s::uuid AND n.sent_version_id = v.document_version_id
WHERE v.tenant_id = %(tenant_id)s AND v.document_version_id IN (
  SELECT %(id)s::uuid
  UNION ALL
  SELECT coalesce(d.sent_version_id, (SELECT max(v.document_version_id::text)::uuid FROM document_versions AS v
                                      WHERE v.document_id = d.document_id))
  FROM documents AS d WHERE d.tenant_id = %(tenant_id)s AND d.document_id = %(id)s::uuid
  UNION ALL
  SELECT document_version_id FROM document_versions WHERE tenant_id = %(tenant_id)s AND sha256 = %(sha256)s::bytea)
ORDER BY v.created_at DESC, v.document_version_id DESC
LIMIT 1
