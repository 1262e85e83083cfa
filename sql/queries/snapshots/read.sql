-- A snapshot with its bytes.
SELECT snapshot_id, status, snapshot_hash, created_at, canonical
FROM data_snapshots WHERE tenant_id = %(tenant_id)s AND snapshot_id = %(snapshot_id)s
