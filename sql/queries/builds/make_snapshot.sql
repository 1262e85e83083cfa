-- An empty snapshot; facts go into it while it is BUILDING.
INSERT INTO data_snapshots (tenant_id) VALUES (%(tenant_id)s) RETURNING snapshot_id
