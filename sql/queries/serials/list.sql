-- The serials of a product, newest first.
SELECT passport_id, battery_product_id, serial, granularity, unique_identifier
FROM passports
WHERE tenant_id = %(tenant_id)s AND battery_product_id = %(battery_product_id)s
ORDER BY passport_id DESC
LIMIT %(limit)s::bigint
