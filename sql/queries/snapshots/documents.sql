-- The versions of documents that a snapshot's facts stand in, with how many of its facts each has.
SELECT v.document_version_id, d.kind, d.external_ref, v.sha256, count(DISTINCT i.fact_id) AS facts
FROM snapshot_items AS i
JOIN fact_sources AS s USING (tenant_id, fact_id)
JOIN document_versions AS v USING (tenant_id, document_version_id)
JOIN documents AS d USING (tenant_id, document_id)
WHERE i.tenant_id = %(tenant_id)s AND i.snapshot_id = %(snapshot_id)s
GROUP BY v.document_version_id, d.kind, d.external_ref, v.sha256
ORDER BY d.external_ref, v.document_version_id
