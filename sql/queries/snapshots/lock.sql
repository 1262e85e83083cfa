-- A snapshot, held until the transaction ends.
SELECT snapshot_id, status, canonical, snapshot_hash
FROM data_snapshots WHERE tenant_id = %(tenant_id)s AND snapshot_id = %(snapshot_id)s
FOR UPDATE
