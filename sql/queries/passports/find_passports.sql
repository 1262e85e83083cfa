-- The passports that an id or a serial number means; a serial number may be that of several products.
SELECT p.passport_id, p.battery_product_id, p.serial, p.granularity, p.unique_identifier, b.identifier AS product
FROM passports AS p JOIN battery_products AS b USING (tenant_id, battery_product_id)
WHERE p.tenant_id = %(tenant_id)s AND (p.passport_id = %(id)s::uuid OR p.serial = %(wanted)s)
ORDER BY b.identifier
