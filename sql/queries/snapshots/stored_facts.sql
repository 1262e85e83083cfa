-- The facts of a snapshot in every form in which they are kept.
SELECT f.fact_type, f.fact_key, f.canonical, f.payload_hash, f.payload
FROM snapshot_items AS i JOIN facts AS f USING (tenant_id, fact_id)
WHERE i.tenant_id = %(tenant_id)s AND i.snapshot_id = %(snapshot_id)s
