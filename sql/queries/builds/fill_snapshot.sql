-- Every fact that was found in the build's documents, once.
INSERT INTO snapshot_items (tenant_id, snapshot_id, fact_id)
SELECT DISTINCT d.tenant_id, %(snapshot_id)s::uuid, s.fact_id
FROM passport_build_documents AS d
JOIN fact_sources AS s USING (tenant_id, document_version_id)
WHERE d.tenant_id = %(tenant_id)s AND d.build_id = %(build_id)s
