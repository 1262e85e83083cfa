-- Where each fact was found.
INSERT INTO fact_sources (tenant_id, fact_id, document_version_id, pointer, item)
SELECT %(tenant_id)s, known.fact_id, %(document_version_id)s, f.pointer, f.item
FROM unnest(%(fact_types)s::text[], %(fact_keys)s::text[], %(schema_versions)s::integer[], %(canonicals)s::bytea[],
            %(pointers)s::text[], %(items)s::text[])
  AS f (fact_type, fact_key, schema_version, canonical, pointer, item)
JOIN facts AS known
  ON known.tenant_id = %(tenant_id)s AND known.fact_type = f.fact_type AND known.fact_key = f.fact_key
 AND known.schema_version = f.schema_version AND known.payload_hash = sha256(f.canonical)
ON CONFLICT DO NOTHING
