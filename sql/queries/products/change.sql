-- What is told about a product from now on; versions that are there keep what their snapshots say.
UPDATE battery_products
SET name = %(name)s, model_identifier = %(model_identifier)s, gtin = %(gtin)s, commodity_code = %(commodity_code)s,
    operator_id = %(operator_id)s, facility_id = %(facility_id)s
WHERE tenant_id = %(tenant_id)s AND identifier = %(identifier)s
