-- A page of passports, the newest first: ids are ordered by time. Each with its newest version.
SELECT p.passport_id, t.name AS tenant, p.serial, m.identifier AS product, p.created_at, v.passport_version_id, v.status,
       v.created_at AS version_at
FROM (
  SELECT passport_id, tenant_id, serial, battery_product_id, created_at FROM passports
  WHERE (%(product)s::uuid IS NULL OR battery_product_id = %(product)s
         AND tenant_id = (SELECT tenant_id FROM battery_products WHERE battery_product_id = %(product)s))
    AND (%(tenant_id)s::uuid IS NULL OR tenant_id = %(tenant_id)s)
    AND (%(after)s::uuid IS NULL OR passport_id < %(after)s)
  ORDER BY passport_id DESC
  LIMIT %(page)s
) AS p
JOIN tenants AS t USING (tenant_id)
JOIN battery_products AS m ON m.tenant_id = p.tenant_id AND m.battery_product_id = p.battery_product_id
LEFT JOIN LATERAL (
  SELECT n.passport_version_id, n.status, n.created_at FROM passport_versions AS n
  WHERE n.tenant_id = p.tenant_id AND n.passport_id = p.passport_id
  ORDER BY n.created_at DESC
  LIMIT 1
) AS v ON true
ORDER BY p.passport_id DESC
