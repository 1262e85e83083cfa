-- A passport by its id.
SELECT passport_id, battery_product_id, serial, granularity, unique_identifier
FROM passports WHERE tenant_id = %(tenant_id)s AND passport_id = %(passport_id)s
