-- Where each fact of a snapshot had been found by a moment: what is found later changes nothing that was handed out.
SELECT f.fact_type, f.fact_key, d.external_ref AS document, v.sha256, s.pointer
FROM snapshot_items AS i
JOIN facts AS f USING (tenant_id, fact_id)
JOIN fact_sources AS s USING (tenant_id, fact_id)
JOIN document_versions AS v USING (tenant_id, document_version_id)
JOIN documents AS d USING (tenant_id, document_id)
WHERE i.tenant_id = %(tenant_id)s AND i.snapshot_id = %(snapshot_id)s AND s.found_at <= %(until)s
