-- The unique identifiers of these batteries of a product.
SELECT serial, unique_identifier FROM passports
WHERE tenant_id = %(tenant_id)s AND battery_product_id = %(battery_product_id)s AND serial = ANY(%(serials)s::text[])
