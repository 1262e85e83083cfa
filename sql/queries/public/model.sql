-- A model of which a passport was in force once.
SELECT gtin, name, model_identifier, operator, operator_web FROM public_models
WHERE host = %(host)s AND gtin = %(gtin)s
ORDER BY tenant_id
LIMIT 1
