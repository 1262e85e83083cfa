-- A product by its identifier.
SELECT battery_product_id, identifier, name FROM battery_products
WHERE tenant_id = %(tenant_id)s AND identifier = %(identifier)s
