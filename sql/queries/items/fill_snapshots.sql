-- Each snapshot gets its own facts, by name and hash; of two forms of one content the newer counts.
INSERT INTO snapshot_items (tenant_id, snapshot_id, fact_id)
SELECT %(tenant_id)s, n.snapshot_id, known.fact_id
FROM unnest(%(snapshot_ids)s::uuid[], %(fact_types)s::text[], %(fact_keys)s::text[], %(payload_hashes)s::bytea[])
  AS n (snapshot_id, fact_type, fact_key, payload_hash)
JOIN LATERAL (
  SELECT f.fact_id FROM facts AS f
  WHERE f.tenant_id = %(tenant_id)s AND f.fact_type = n.fact_type AND f.fact_key = n.fact_key
    AND f.payload_hash = n.payload_hash
  ORDER BY f.schema_version DESC LIMIT 1
) AS known ON true
