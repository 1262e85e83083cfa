-- Where each fact of a snapshot had been found by a moment: what is found later changes nothing that was handed out.
-- Of a build's snapshot only the build's own documents count, of a battery's own facts only its documents and in them its
-- rows: the same fact may stand in somebody else's as well.
WITH
-- include: snapshot_facts
SELECT f.fact_type, f.fact_key, d.external_ref AS document, v.document_version_id, v.sha256, s.pointer
FROM held
JOIN facts AS f USING (tenant_id, fact_id)
JOIN fact_sources AS s USING (tenant_id, fact_id)
JOIN document_versions AS v USING (tenant_id, document_version_id)
JOIN documents AS d USING (tenant_id, document_id)
LEFT JOIN passports AS p ON p.tenant_id = held.tenant_id AND p.passport_id = held.passport_id
WHERE s.found_at <= %(until)s
  AND CASE WHEN held.own AND held.passport_id IS NOT NULL THEN
      coalesce(s.item, p.serial) = p.serial
      AND EXISTS (SELECT FROM passport_documents AS t
                  WHERE t.passport_id = p.passport_id AND t.document_version_id = s.document_version_id)
    ELSE s.item IS NULL
      AND (NOT EXISTS (SELECT FROM passport_builds AS b WHERE b.snapshot_id = held.snapshot_id)
           OR EXISTS (SELECT FROM passport_builds AS b
                      JOIN passport_build_documents AS has ON has.build_id = b.build_id
                      WHERE b.snapshot_id = held.snapshot_id AND has.document_version_id = v.document_version_id))
    END
