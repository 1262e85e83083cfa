-- The newest build of this battery with these rules, and the bytes that each of its files has by now.
SELECT b.build_id, b.state,
       array_agg(d.external_ref ORDER BY d.external_ref) AS files,
       array_agg(v.sha256 ORDER BY d.external_ref) AS hashes,
       array_agg(coalesce(v.status, 'WAITING') ORDER BY d.external_ref) AS statuses
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
