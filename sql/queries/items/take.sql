-- These batteries take their rows of that document; what they have taken before stays as it is.
INSERT INTO passport_documents (passport_id, document_version_id, tenant_id)
SELECT n.passport_id, %(document_version_id)s, %(tenant_id)s FROM unnest(%(passport_ids)s::uuid[]) AS n (passport_id)
ON CONFLICT DO NOTHING
