-- Builds, newest first, from behind the last one seen; of one state, or of one battery, where that is named.
SELECT b.build_id, b.passport_id, p.serial, product.identifier AS product, p.unique_identifier, b.state,
       k.name || '@' || r.version AS rules, b.law_date, b.passport_version_id, b.created_at, b.finished_at,
       coalesce(jsonb_array_length(b.errors), 0) AS errors
FROM passport_builds AS b
JOIN passports AS p USING (tenant_id, passport_id)
JOIN battery_products AS product ON product.battery_product_id = b.battery_product_id
JOIN rule_package_versions AS r ON r.rule_package_version_id = b.rule_package_version_id
JOIN rule_packages AS k ON k.rule_package_id = r.rule_package_id
WHERE b.tenant_id = %(tenant_id)s
  AND b.build_id < coalesce(%(after)s::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
  AND (%(state)s::text IS NULL OR b.state = %(state)s)
  AND (%(passport_id)s::uuid IS NULL OR b.passport_id = %(passport_id)s)
ORDER BY b.build_id DESC
LIMIT %(limit)s::bigint
