-- Every fact that was found in these versions of documents, once.
INSERT INTO snapshot_items (tenant_id, snapshot_id, fact_id)
SELECT DISTINCT s.tenant_id, %(snapshot_id)s::uuid, s.fact_id
FROM fact_sources AS s
WHERE s.tenant_id = %(tenant_id)s AND s.document_version_id = ANY (%(document_version_ids)s::uuid[])
RETURNING fact_id
