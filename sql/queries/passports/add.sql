INSERT INTO passports (tenant_id, battery_product_id, serial)
VALUES (%(tenant_id)s, %(battery_product_id)s, %(serial)s)
ON CONFLICT DO NOTHING
