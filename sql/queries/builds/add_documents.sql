-- What the build expects, file by file.
INSERT INTO passport_build_documents (tenant_id, build_id, external_ref, kind, mime_type, number_format, mapping,
                                      sha256)
SELECT %(tenant_id)s, %(build_id)s, d.file, d.kind, d.mime_type, d.number_format, d.mapping, d.sha256
FROM unnest(%(files)s::text[], %(kinds)s::text[], %(mime_types)s::text[], %(number_formats)s::text[],
            %(mappings)s::text[], %(hashes)s::bytea[]) AS d (file, kind, mime_type, number_format, mapping, sha256)
