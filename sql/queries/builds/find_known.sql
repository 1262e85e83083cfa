-- The newest build of this battery with these rules, what each of its files is, and whether a job of it is left.
SELECT b.build_id, b.state,
       jsonb_agg(jsonb_build_object(
         'file', d.external_ref, 'kind', d.kind, 'mime_type', d.mime_type, 'number_format', d.number_format,
         'mapping', d.mapping,
         'sha256', encode(d.sha256, 'hex'), 'status', v.status)) AS documents,
       EXISTS (SELECT FROM own_jobs AS j
               WHERE j.correlation_id = b.build_id::text AND j.tenant_id = b.tenant_id
                 AND j.status IN ('QUEUED', 'RUNNING')) AS alive
FROM passport_builds AS b
JOIN passports AS p ON p.passport_id = b.passport_id
JOIN battery_products AS product ON product.battery_product_id = p.battery_product_id
JOIN passport_build_documents AS d ON d.build_id = b.build_id
LEFT JOIN document_versions AS v ON v.document_version_id = d.document_version_id
WHERE b.tenant_id = %(tenant_id)s AND product.identifier = %(identifier)s AND p.serial = %(serial)s
  AND b.law_date = %(law_date)s AND b.rule_package_version_id = %(rule_package_version_id)s
GROUP BY b.build_id
ORDER BY b.created_at DESC
LIMIT 1
