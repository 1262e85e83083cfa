-- Every fact that was found in these versions of documents, once. What was declared but cannot be used gives way to a
-- fact of the same name that can; of several that cannot, one is enough to say so.
INSERT INTO snapshot_items (tenant_id, snapshot_id, fact_id)
WITH found AS (
  SELECT DISTINCT f.fact_id, f.fact_type, f.fact_key, f.payload ? 'defect' AS defective
  FROM fact_sources AS s JOIN facts AS f USING (tenant_id, fact_id)
  WHERE s.tenant_id = %(tenant_id)s AND s.document_version_id = ANY (%(document_version_ids)s::uuid[]))
SELECT %(tenant_id)s, %(snapshot_id)s::uuid, f.fact_id
FROM found AS f
WHERE NOT f.defective OR NOT EXISTS (
  SELECT FROM found AS better
  WHERE better.fact_type = f.fact_type AND better.fact_key = f.fact_key
    AND (NOT better.defective OR better.fact_id < f.fact_id))
RETURNING fact_id
