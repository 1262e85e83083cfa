-- All products, by identifier.
SELECT battery_product_id, identifier, name, model_identifier, gtin, commodity_code, operator_id, facility_id
FROM battery_products
WHERE tenant_id = %(tenant_id)s ORDER BY identifier
