-- What was measured of a battery, the newest first.
SELECT f.fact_key AS name, f.payload ->> 'value' AS value, f.payload ->> 'measured_at' AS measured_at,
       f.payload ->> 'source' AS source, d.external_ref AS document, s.pointer
FROM passports AS p
JOIN passport_documents AS t USING (tenant_id, passport_id)
JOIN fact_sources AS s ON s.document_version_id = t.document_version_id AND coalesce(s.item, p.serial) = p.serial
JOIN facts AS f ON f.tenant_id = s.tenant_id AND f.fact_id = s.fact_id AND f.fact_type = 'Measured'
JOIN document_versions AS v ON v.document_version_id = s.document_version_id
JOIN documents AS d ON d.document_id = v.document_id
WHERE p.tenant_id = %(tenant_id)s AND p.passport_id = %(passport_id)s
  AND f.fact_key = coalesce(%(name)s::text, f.fact_key)
ORDER BY measured_at DESC, name, document, pointer
LIMIT %(limit)s::bigint
