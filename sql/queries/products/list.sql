-- All products, by identifier, with the names of who makes them and where.
SELECT p.battery_product_id, p.identifier, p.name, p.model_identifier, p.gtin, p.commodity_code, p.operator_id,
       p.facility_id, o.name AS operator, f.name AS facility
FROM battery_products AS p
LEFT JOIN operators AS o USING (tenant_id, operator_id)
LEFT JOIN facilities AS f USING (tenant_id, facility_id)
WHERE p.tenant_id = %(tenant_id)s ORDER BY p.identifier
