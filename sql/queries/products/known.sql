-- What the tables say now of a product: for the facts that are copied into the snapshot of its model.
SELECT jsonb_build_object('identifier', b.identifier, 'name', b.name, 'model_identifier', b.model_identifier,
                          'gtin', b.gtin, 'commodity_code', b.commodity_code) AS product,
       (SELECT jsonb_build_object('name', f.name, 'address', f.address, 'identifiers', f.identifiers)
        FROM facilities AS f WHERE f.tenant_id = b.tenant_id AND f.facility_id = b.facility_id) AS facility
FROM battery_products AS b
WHERE b.tenant_id = %(tenant_id)s AND b.battery_product_id = %(battery_product_id)s
