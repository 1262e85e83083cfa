-- The documents of a battery's newest version are the battery's own from now on, unless it has taken some before. Of a
-- build's snapshot those of the build; of any other those in which its facts stand.
INSERT INTO passport_documents (passport_id, document_version_id, tenant_id)
SELECT DISTINCT %(passport_id)s::uuid, s.document_version_id, s.tenant_id
FROM (SELECT v.tenant_id, v.snapshot_id FROM passport_versions AS v
      WHERE v.tenant_id = %(tenant_id)s AND v.passport_id = %(passport_id)s
      ORDER BY v.created_at DESC, v.passport_version_id DESC LIMIT 1) AS last
JOIN snapshot_items AS i USING (tenant_id, snapshot_id)
JOIN fact_sources AS s USING (tenant_id, fact_id)
WHERE s.item IS NULL
  AND NOT EXISTS (SELECT FROM passport_documents AS t WHERE t.passport_id = %(passport_id)s)
  AND (NOT EXISTS (SELECT FROM passport_builds AS b WHERE b.snapshot_id = i.snapshot_id)
       OR EXISTS (SELECT FROM passport_builds AS b
                  JOIN passport_build_documents AS has ON has.build_id = b.build_id
                  WHERE b.snapshot_id = i.snapshot_id AND has.document_version_id = s.document_version_id))
ON CONFLICT DO NOTHING
