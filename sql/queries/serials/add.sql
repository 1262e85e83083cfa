-- Passports of one product by their serials; what is there already, serial or identifier, stays as it is.
INSERT INTO passports (tenant_id, battery_product_id, serial, granularity, unique_identifier)
SELECT %(tenant_id)s, %(battery_product_id)s, n.serial, %(granularity)s, n.unique_identifier
FROM unnest(%(serials)s::text[], %(unique_identifiers)s::text[]) AS n (serial, unique_identifier)
ON CONFLICT DO NOTHING
RETURNING serial
