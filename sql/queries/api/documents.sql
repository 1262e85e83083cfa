-- What was sent in, newest first, from behind the last one seen.
SELECT v.document_version_id, v.document_id, d.kind, d.external_ref, v.sha256, v.mime_type, v.number_format,
       v.mapping, b.size AS bytes, v.status, v.created_at
FROM document_versions AS v
JOIN documents AS d USING (tenant_id, document_id)
JOIN blobs AS b USING (tenant_id, sha256)
WHERE v.tenant_id = %(tenant_id)s
  AND v.document_version_id < coalesce(%(after)s::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
  AND (%(status)s::text IS NULL OR v.status = %(status)s)
  AND (%(kind)s::text IS NULL OR v.kind = %(kind)s)
ORDER BY v.document_version_id DESC
LIMIT %(limit)s::bigint
