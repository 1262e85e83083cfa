-- What the tables say now of a passport's battery: for the facts that are copied into its snapshot.
SELECT jsonb_build_object('serial', p.serial, 'granularity', p.granularity,
                          'unique_identifier', p.unique_identifier) AS identity,
       jsonb_build_object('identifier', b.identifier, 'name', b.name, 'model_identifier', b.model_identifier,
                          'gtin', b.gtin, 'commodity_code', b.commodity_code) AS product,
       (SELECT jsonb_build_object('name', o.name, 'address', o.address, 'contact', o.contact, 'web', o.web,
                                  'identifiers', o.identifiers)
        FROM operators AS o WHERE o.tenant_id = b.tenant_id AND o.operator_id = b.operator_id) AS operator,
       (SELECT jsonb_build_object('name', f.name, 'address', f.address, 'identifiers', f.identifiers)
        FROM facilities AS f WHERE f.tenant_id = b.tenant_id AND f.facility_id = b.facility_id) AS facility,
       (SELECT r.registration_id FROM registrations AS r WHERE r.tenant_id = p.tenant_id AND r.passport_id = p.passport_id
        ORDER BY r.registered_at DESC, r.registration_id LIMIT 1) AS registration_id
FROM passports AS p JOIN battery_products AS b USING (tenant_id, battery_product_id)
WHERE p.tenant_id = %(tenant_id)s AND p.passport_id = %(passport_id)s
