-- The snapshot of each of these batteries that was sealed last.
SELECT DISTINCT ON (passport_id) passport_id, snapshot_id, status, snapshot_hash, created_at, canonical
FROM data_snapshots
WHERE tenant_id = %(tenant_id)s AND passport_id = ANY (%(passport_ids)s::uuid[]) AND status = 'SEALED'
ORDER BY passport_id, snapshot_id DESC
