-- Products by identifier, from behind the last one seen.
SELECT p.battery_product_id, p.identifier, p.name, p.model_identifier, p.gtin, p.commodity_code,
       o.name AS operator, f.name AS facility
FROM battery_products AS p
LEFT JOIN operators AS o USING (tenant_id, operator_id)
LEFT JOIN facilities AS f USING (tenant_id, facility_id)
WHERE p.tenant_id = %(tenant_id)s AND p.identifier > coalesce(%(after)s::text, '')
ORDER BY p.identifier
LIMIT %(limit)s::bigint
