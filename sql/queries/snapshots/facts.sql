-- The bytes of the facts of a snapshot, its model's among them.
WITH
-- include: snapshot_facts
SELECT f.fact_type, f.fact_key, f.canonical
FROM held JOIN facts AS f USING (tenant_id, fact_id)
ORDER BY f.fact_type, f.fact_key
