-- Every fact that was found in the build's documents, once; of a table about several batteries, those of this one. What
-- was declared but cannot be used gives way to a fact of the same name that can; of several that cannot, one is enough
-- to say so. Of what was measured more than once, the last counts.
INSERT INTO snapshot_items (tenant_id, snapshot_id, fact_id)
WITH found AS (
  SELECT DISTINCT f.fact_id, f.fact_type, f.fact_key, f.payload ? 'defect' AS defective,
         CASE WHEN f.fact_type = 'Measured' THEN f.payload ->> 'measured_at' END AS measured_at
  FROM passport_builds AS b
  JOIN passports AS p USING (tenant_id, passport_id)
  JOIN passport_build_documents AS d USING (tenant_id, build_id)
  JOIN fact_sources AS s USING (tenant_id, document_version_id)
  JOIN facts AS f USING (tenant_id, fact_id)
  WHERE b.tenant_id = %(tenant_id)s AND b.build_id = %(build_id)s AND (s.item IS NULL OR s.item = p.serial))
SELECT %(tenant_id)s, %(snapshot_id)s::uuid, f.fact_id
FROM found AS f
WHERE NOT EXISTS (
  SELECT FROM found AS better
  WHERE better.fact_type = f.fact_type AND better.fact_key = f.fact_key AND (
    (f.defective AND (NOT better.defective OR better.fact_id < f.fact_id))
    OR (NOT f.defective AND NOT better.defective
        AND (better.measured_at, better.fact_id) > (f.measured_at, f.fact_id))))
