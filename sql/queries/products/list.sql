-- All products, by identifier.
SELECT battery_product_id, identifier, name FROM battery_products
WHERE tenant_id = %(tenant_id)s ORDER BY identifier
