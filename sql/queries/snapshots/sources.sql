-- Where each fact of a snapshot had been found by a moment: what is found later changes nothing that was handed out.
-- Of a build's snapshot only the build's own documents count: the same fact may stand in somebody else's as well.
SELECT f.fact_type, f.fact_key, d.external_ref AS document, v.document_version_id, v.sha256, s.pointer
FROM snapshot_items AS i
JOIN facts AS f USING (tenant_id, fact_id)
JOIN fact_sources AS s USING (tenant_id, fact_id)
JOIN document_versions AS v USING (tenant_id, document_version_id)
JOIN documents AS d USING (tenant_id, document_id)
WHERE i.tenant_id = %(tenant_id)s AND i.snapshot_id = %(snapshot_id)s AND s.found_at <= %(until)s
  AND (NOT EXISTS (SELECT FROM passport_builds AS b WHERE b.snapshot_id = i.snapshot_id)
       OR EXISTS (SELECT FROM passport_builds AS b
                  JOIN passport_build_documents AS has ON has.build_id = b.build_id
                  WHERE b.snapshot_id = i.snapshot_id AND has.document_version_id = v.document_version_id))
