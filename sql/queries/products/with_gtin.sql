-- The product that has this GTIN.
SELECT identifier FROM battery_products WHERE tenant_id = %(tenant_id)s AND gtin = %(gtin)s
