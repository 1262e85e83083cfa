-- A sealed snapshot is the product's model from now on.
INSERT INTO product_models (snapshot_id, tenant_id, battery_product_id)
VALUES (%(snapshot_id)s, %(tenant_id)s, %(battery_product_id)s)
ON CONFLICT DO NOTHING
