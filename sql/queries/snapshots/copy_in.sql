-- Facts that were not found in a document go into a snapshot.
INSERT INTO snapshot_items (tenant_id, snapshot_id, fact_id)
SELECT f.tenant_id, %(snapshot_id)s::uuid, f.fact_id
FROM unnest(%(fact_types)s::text[], %(fact_keys)s::text[], %(schema_versions)s::integer[], %(canonicals)s::bytea[])
  AS n (fact_type, fact_key, schema_version, canonical)
JOIN facts AS f ON f.tenant_id = %(tenant_id)s AND f.fact_type = n.fact_type AND f.fact_key = n.fact_key
  AND f.schema_version = n.schema_version AND f.payload_hash = sha256(n.canonical)
