-- SEALED, each with its bytes and hash.
UPDATE data_snapshots AS s SET status = 'SEALED', canonical = n.canonical, snapshot_hash = sha256(n.canonical)
FROM unnest(%(snapshot_ids)s::uuid[], %(canonicals)s::bytea[]) AS n (snapshot_id, canonical)
WHERE s.tenant_id = %(tenant_id)s AND s.snapshot_id = n.snapshot_id
