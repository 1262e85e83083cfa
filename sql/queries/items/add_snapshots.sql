-- Empty snapshots of batteries, BUILDING, each beside the same model or none.
INSERT INTO data_snapshots (tenant_id, passport_id, model_snapshot_id)
SELECT %(tenant_id)s, n.passport_id, %(model_snapshot_id)s
FROM unnest(%(passport_ids)s::uuid[]) AS n (passport_id)
RETURNING snapshot_id, passport_id
