-- The models of all products, newest first.
SELECT b.identifier AS product, s.snapshot_id, s.snapshot_hash, m.created_at,
       (SELECT count(*) FROM snapshot_items AS i WHERE i.snapshot_id = s.snapshot_id) AS facts,
       (SELECT count(DISTINCT i.passport_id) FROM data_snapshots AS i
        WHERE i.tenant_id = m.tenant_id AND i.model_snapshot_id = s.snapshot_id) AS items
FROM product_models AS m
JOIN data_snapshots AS s USING (tenant_id, snapshot_id)
JOIN battery_products AS b USING (tenant_id, battery_product_id)
WHERE m.tenant_id = %(tenant_id)s
ORDER BY m.created_at DESC, m.snapshot_id DESC
LIMIT %(limit)s
