-- All snapshots, newest first.
SELECT s.snapshot_id, s.status, s.snapshot_hash, s.created_at,
       (SELECT count(*) FROM snapshot_items AS i
        WHERE i.tenant_id = s.tenant_id AND i.snapshot_id = s.snapshot_id) AS facts
FROM data_snapshots AS s
WHERE s.tenant_id = %(tenant_id)s AND s.status = coalesce(%(status)s::text, s.status)
ORDER BY s.created_at DESC, s.snapshot_id DESC
LIMIT %(limit)s
