-- Facts that are known already stay as they are: the same name with the same content is the same fact.
INSERT INTO facts (tenant_id, fact_type, fact_key, schema_version, payload, canonical, payload_hash)
SELECT %(tenant_id)s, f.fact_type, f.fact_key, f.schema_version, convert_from(f.canonical, 'UTF8')::jsonb,
       f.canonical, sha256(f.canonical)
FROM unnest(%(fact_types)s::text[], %(fact_keys)s::text[], %(schema_versions)s::integer[], %(canonicals)s::bytea[])
  AS f (fact_type, fact_key, schema_version, canonical)
ORDER BY f.fact_type COLLATE "C", f.fact_key COLLATE "C", f.schema_version, f.canonical
ON CONFLICT DO NOTHING
