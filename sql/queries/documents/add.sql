-- A document by kind and name; the same again is the same document.
INSERT INTO documents (tenant_id, kind, external_ref) VALUES (%(tenant_id)s, %(kind)s, %(external_ref)s)
ON CONFLICT DO NOTHING
