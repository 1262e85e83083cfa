-- The documents that a build expects, each by the name of its file.
INSERT INTO passport_build_documents (tenant_id, build_id, external_ref, kind)
SELECT %(tenant_id)s, %(build_id)s, d.file, d.kind
FROM unnest(%(files)s::text[], %(kinds)s::text[]) AS d (file, kind)
