-- One build.
SELECT b.build_id, b.tenant_id, t.name AS tenant, b.state, b.created_at, b.finished_at, b.snapshot_id, b.passport_version_id,
       b.errors, p.passport_id, p.serial, m.identifier AS product, b.law_date
FROM passport_builds AS b
JOIN tenants AS t USING (tenant_id)
JOIN passports AS p USING (tenant_id, passport_id)
JOIN battery_products AS m ON m.tenant_id = b.tenant_id AND m.battery_product_id = b.battery_product_id
WHERE b.build_id = %(build_id)s
