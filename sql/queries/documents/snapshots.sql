-- The snapshots that have a fact of this version.
SELECT DISTINCT s.snapshot_id, s.status
FROM fact_sources AS f
JOIN snapshot_items AS i USING (tenant_id, fact_id)
JOIN data_snapshots AS s USING (tenant_id, snapshot_id)
WHERE f.tenant_id = %(tenant_id)s AND f.document_version_id = %(document_version_id)s
ORDER BY s.snapshot_id
