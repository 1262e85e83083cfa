-- The bytes of the facts of a snapshot.
SELECT f.fact_type, f.fact_key, f.canonical
FROM snapshot_items AS i JOIN facts AS f USING (tenant_id, fact_id)
WHERE i.tenant_id = %(tenant_id)s AND i.snapshot_id = %(snapshot_id)s
ORDER BY f.fact_type, f.fact_key
