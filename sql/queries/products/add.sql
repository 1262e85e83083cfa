-- Nothing comes back when the identifier, or the GTIN, was there already.
INSERT INTO battery_products
  (tenant_id, identifier, name, model_identifier, gtin, commodity_code, operator_id, facility_id)
VALUES (%(tenant_id)s, %(identifier)s, %(name)s, %(model_identifier)s, %(gtin)s, %(commodity_code)s, %(operator_id)s,
        %(facility_id)s)
ON CONFLICT DO NOTHING
RETURNING battery_product_id
