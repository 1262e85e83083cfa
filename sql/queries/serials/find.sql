-- The passports of a product with these serials.
SELECT passport_id, battery_product_id, serial, granularity, unique_identifier
FROM passports
WHERE tenant_id = %(tenant_id)s AND battery_product_id = %(battery_product_id)s AND serial = ANY (%(serials)s::text[])
