-- From now on the build wants these bytes instead, or the same ones once more; how often each was sent.
UPDATE passport_build_documents AS d
SET kind = w.kind, mime_type = w.mime_type, number_format = w.number_format, mapping = w.mapping, sha256 = w.sha256,
    sent = d.sent + 1, document_version_id = NULL
FROM unnest(%(files)s::text[], %(kinds)s::text[], %(mime_types)s::text[], %(number_formats)s::text[],
            %(mappings)s::text[], %(hashes)s::bytea[]) AS w (file, kind, mime_type, number_format, mapping, sha256)
WHERE d.tenant_id = %(tenant_id)s AND d.build_id = %(build_id)s AND d.external_ref = w.file
RETURNING d.external_ref, d.sent
