-- Versions in force that the registry has not confirmed, oldest first; of one product where one is named.
SELECT v.passport_version_id
FROM passport_versions AS v
JOIN passports AS p USING (tenant_id, passport_id)
JOIN battery_products AS b USING (tenant_id, battery_product_id)
WHERE v.tenant_id = %(tenant_id)s AND v.status = 'ACTIVE'
  AND (%(product)s::text IS NULL OR b.identifier = %(product)s::text)
  AND NOT EXISTS (SELECT FROM registrations AS r WHERE r.passport_version_id = v.passport_version_id)
ORDER BY v.created_at, v.passport_version_id
LIMIT %(limit)s::bigint
