-- What the tables say now of these batteries of a product: for the facts that are copied into their snapshots.
SELECT p.passport_id,
       jsonb_build_object('serial', p.serial, 'granularity', p.granularity,
                          'unique_identifier', p.unique_identifier) AS identity,
       (SELECT jsonb_build_object('name', o.name, 'address', o.address, 'contact', o.contact, 'web', o.web,
                                  'identifiers', o.identifiers)
        FROM operators AS o
        WHERE o.tenant_id = p.tenant_id AND o.operator_id = coalesce(
          (SELECT l.operator_id FROM passport_lives AS l
           WHERE l.passport_id = p.passport_id AND l.operator_id IS NOT NULL
           ORDER BY l.created_at DESC, l.passport_life_id DESC LIMIT 1), b.operator_id)) AS operator,
       (SELECT l.status FROM passport_lives AS l WHERE l.passport_id = p.passport_id
        ORDER BY l.created_at DESC, l.passport_life_id DESC LIMIT 1) AS status,
       ARRAY(SELECT o.unique_identifier
             FROM passport_predecessors AS r JOIN passports AS o
               ON o.tenant_id = r.tenant_id AND o.passport_id = r.predecessor_id
             WHERE r.passport_id = p.passport_id ORDER BY o.unique_identifier) AS predecessors
FROM passports AS p JOIN battery_products AS b USING (tenant_id, battery_product_id)
WHERE p.tenant_id = %(tenant_id)s AND p.battery_product_id = %(battery_product_id)s
  AND p.passport_id = ANY (%(passport_ids)s::uuid[])
ORDER BY p.passport_id
