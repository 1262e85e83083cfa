INSERT INTO documents (document_id, tenant_id, kind, external_ref)
SELECT md5('document ' || n)::uuid, %(tenant_id)s, 'BOM', 'generated-bom-' || n || '.csv'
FROM generate_series(1, %(count)s) AS n
