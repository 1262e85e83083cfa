-- The snapshot that is a product's model now, with its bytes.
SELECT s.snapshot_id, s.status, s.snapshot_hash, s.created_at, s.canonical
FROM product_models AS m JOIN data_snapshots AS s USING (tenant_id, snapshot_id)
WHERE m.tenant_id = %(tenant_id)s AND m.battery_product_id = %(battery_product_id)s
ORDER BY m.created_at DESC, m.snapshot_id DESC
LIMIT 1
