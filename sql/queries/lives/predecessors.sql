-- The passports that a passport follows.
SELECT p.passport_id, p.battery_product_id, p.serial, p.granularity, p.unique_identifier, b.identifier AS product
FROM passport_predecessors AS r
JOIN passports AS p ON p.tenant_id = r.tenant_id AND p.passport_id = r.predecessor_id
JOIN battery_products AS b ON b.tenant_id = p.tenant_id AND b.battery_product_id = p.battery_product_id
WHERE r.tenant_id = %(tenant_id)s AND r.passport_id = %(passport_id)s
ORDER BY p.unique_identifier
