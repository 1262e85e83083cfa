INSERT INTO data_snapshots (snapshot_id, tenant_id, status, canonical, snapshot_hash)
SELECT md5('snapshot ' || n)::uuid, %(tenant_id)s, 'SEALED', '{}', sha256('{}') FROM generate_series(1, %(count)s) AS n
