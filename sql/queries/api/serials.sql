-- Batteries of a product in the order in which they got their passports, from behind the last one seen.
SELECT passport_id, serial, granularity, unique_identifier
FROM passports
WHERE tenant_id = %(tenant_id)s AND battery_product_id = %(battery_product_id)s
  AND passport_id > coalesce(%(after)s::uuid, '00000000-0000-0000-0000-000000000000')
ORDER BY passport_id
LIMIT %(limit)s::bigint
