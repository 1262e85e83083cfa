INSERT INTO data_snapshots (tenant_id) VALUES (%(tenant_id)s) RETURNING snapshot_id
