-- A snapshot, held until the transaction ends.
SELECT snapshot_id, status, snapshot_hash, created_at
FROM data_snapshots WHERE tenant_id = %(tenant_id)s AND snapshot_id = %(snapshot_id)s
FOR UPDATE
