-- The snapshots that these batteries have, held in one order: who makes another of the same battery waits, and sees this
-- one.
SELECT snapshot_id FROM data_snapshots
WHERE tenant_id = %(tenant_id)s AND passport_id = ANY (%(passport_ids)s::uuid[]) AND status = 'SEALED'
ORDER BY snapshot_id
FOR UPDATE
