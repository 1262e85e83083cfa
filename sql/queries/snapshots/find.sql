-- One snapshot, without its bytes.
SELECT s.snapshot_id, s.status, s.snapshot_hash, s.created_at,
       (SELECT count(*) FROM snapshot_items AS i
        WHERE i.tenant_id = s.tenant_id AND i.snapshot_id = s.snapshot_id) AS facts
FROM data_snapshots AS s
WHERE s.tenant_id = %(tenant_id)s AND s.snapshot_id = %(snapshot_id)s
