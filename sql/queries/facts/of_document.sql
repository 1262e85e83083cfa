-- What was found in one version of a document, and where; a fact that stands there twice comes twice.
SELECT f.fact_id, f.fact_type, f.fact_key, f.schema_version, s.pointer, f.payload_hash, f.canonical
FROM fact_sources AS s JOIN facts AS f USING (tenant_id, fact_id)
WHERE s.tenant_id = %(tenant_id)s AND s.document_version_id = %(document_version_id)s
ORDER BY f.fact_type, f.fact_key, f.schema_version, s.pointer
