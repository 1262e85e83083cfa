INSERT INTO battery_products (battery_product_id, tenant_id, identifier, name, model_identifier, gtin)
SELECT md5('product ' || n)::uuid, %(tenant_id)s, 'urn:generated:model-' || n, 'Generated model ' || n, 'GM-' || n,
       (%(gtins)s::text[])[n + 1]
FROM generate_series(0, %(count)s - 1) AS n
