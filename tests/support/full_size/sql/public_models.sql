INSERT INTO public_models (tenant_id, host, gtin, battery_product_id, name, model_identifier, operator)
SELECT tenant_id, %s, gtin, battery_product_id, name, model_identifier, 'Generated works'
FROM battery_products WHERE identifier LIKE 'urn:generated:%%'
