-- A passport by product and serial number; nothing is added when these, or its unique identifier, are there already.
INSERT INTO passports (tenant_id, battery_product_id, serial, unique_identifier)
VALUES (%(tenant_id)s, %(battery_product_id)s, %(serial)s, %(unique_identifier)s)
ON CONFLICT DO NOTHING
