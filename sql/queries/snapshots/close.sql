-- READY, or SEALED with its bytes and hash.
UPDATE data_snapshots SET status = %(status)s, canonical = %(canonical)s, snapshot_hash = %(snapshot_hash)s
WHERE tenant_id = %(tenant_id)s AND snapshot_id = %(snapshot_id)s
