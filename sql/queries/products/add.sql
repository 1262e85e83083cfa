-- Nothing comes back when the identifier was there already.
INSERT INTO battery_products (tenant_id, identifier, name) VALUES (%(tenant_id)s, %(identifier)s, %(name)s)
ON CONFLICT DO NOTHING
RETURNING battery_product_id
