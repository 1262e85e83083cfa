-- What the documents of these batteries tell of each: of what was measured the last, of all else what was taken last.
SELECT DISTINCT ON (p.passport_id, f.fact_type, f.fact_key) p.passport_id, f.fact_type, f.fact_key, f.payload_hash
FROM passports AS p
JOIN passport_documents AS d USING (tenant_id, passport_id)
JOIN LATERAL (
  SELECT s.fact_id FROM fact_sources AS s
  WHERE s.document_version_id = d.document_version_id AND s.item = p.serial
  UNION ALL
  SELECT s.fact_id FROM fact_sources AS s
  WHERE s.document_version_id = d.document_version_id AND s.item IS NULL
    AND NOT EXISTS (SELECT FROM fact_sources AS r
                    WHERE r.document_version_id = d.document_version_id AND r.item IS NOT NULL)
) AS s ON true
JOIN facts AS f ON f.tenant_id = p.tenant_id AND f.fact_id = s.fact_id
WHERE p.tenant_id = %(tenant_id)s AND p.passport_id = ANY (%(passport_ids)s::uuid[])
ORDER BY p.passport_id, f.fact_type, f.fact_key, f.payload ->> 'measured_at' DESC NULLS LAST, d.taken_at DESC,
         f.payload_hash
