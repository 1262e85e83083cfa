-- The passport versions that were compiled from a snapshot.
SELECT passport_version_id, status FROM passport_versions
WHERE tenant_id = %(tenant_id)s AND snapshot_id = %(snapshot_id)s
ORDER BY passport_version_id
