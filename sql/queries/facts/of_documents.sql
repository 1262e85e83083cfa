-- The names and hashes of what was found in these versions of documents, each once.
SELECT DISTINCT f.fact_type, f.fact_key, f.payload_hash
FROM fact_sources AS s JOIN facts AS f USING (tenant_id, fact_id)
WHERE s.tenant_id = %(tenant_id)s AND s.document_version_id = ANY (%(document_version_ids)s::uuid[])
