-- The snapshots that have a fact of this version; those of single batteries, which may be thousands, are not among them.
WITH told AS MATERIALIZED (
  SELECT DISTINCT fact_id FROM fact_sources
  WHERE tenant_id = %(tenant_id)s AND document_version_id = %(document_version_id)s
)
SELECT DISTINCT s.snapshot_id, s.status
FROM told
JOIN snapshot_items AS i USING (fact_id)
JOIN data_snapshots AS s USING (tenant_id, snapshot_id)
WHERE s.tenant_id = %(tenant_id)s AND s.passport_id IS NULL
ORDER BY s.snapshot_id
