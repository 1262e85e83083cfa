-- Facts of one name with several contents: no snapshot can have them all.
SELECT f.fact_type, f.fact_key, array_agg(DISTINCT d.external_ref) AS documents
FROM snapshot_items AS i
JOIN facts AS f USING (tenant_id, fact_id)
JOIN fact_sources AS s USING (tenant_id, fact_id)
JOIN document_versions AS v USING (tenant_id, document_version_id)
JOIN documents AS d USING (tenant_id, document_id)
WHERE i.tenant_id = %(tenant_id)s AND i.snapshot_id = %(snapshot_id)s
  AND s.document_version_id = ANY (%(document_version_ids)s::uuid[])
GROUP BY f.fact_type, f.fact_key
HAVING count(DISTINCT f.payload_hash) > 1
ORDER BY f.fact_type, f.fact_key
LIMIT 5
