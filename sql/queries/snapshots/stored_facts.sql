-- The facts of a snapshot, its model's among them, in every form in which they are kept.
WITH
-- include: snapshot_facts
SELECT f.fact_type, f.fact_key, f.canonical, f.payload_hash, f.payload
FROM held JOIN facts AS f USING (tenant_id, fact_id)
