-- A passport by product and serial number; the same again is the same passport.
INSERT INTO passports (tenant_id, battery_product_id, serial)
VALUES (%(tenant_id)s, %(battery_product_id)s, %(serial)s)
ON CONFLICT DO NOTHING
