-- What an id, a serial number, a GTIN, an identifier or the name of a document means; each by its index.
SELECT found.what, found.id, found.name, t.name AS tenant
FROM (
  SELECT 'build' AS what, build_id AS id, state AS name, tenant_id FROM passport_builds WHERE build_id = %(id)s::uuid
  UNION ALL
  SELECT 'passport', passport_id, serial, tenant_id FROM passports WHERE passport_id = %(id)s::uuid
  UNION ALL
  SELECT 'version', passport_version_id, status, tenant_id FROM passport_versions WHERE passport_version_id = %(id)s::uuid
  UNION ALL
  SELECT 'delivery', webhook_delivery_id, event_type, tenant_id FROM webhook_deliveries
  WHERE webhook_delivery_id = %(id)s::uuid
  UNION ALL
  SELECT 'document', d.document_id, d.external_ref, d.tenant_id FROM documents AS d WHERE d.document_id = %(id)s::uuid
  UNION ALL
  SELECT 'document', d.document_id, d.external_ref, d.tenant_id
  FROM document_versions AS v JOIN documents AS d USING (tenant_id, document_id) WHERE v.document_version_id = %(id)s::uuid
  UNION ALL
  (SELECT 'passport', passport_id, serial, tenant_id FROM passports WHERE serial = %(text)s LIMIT 50)
  UNION ALL
  SELECT 'passport', passport_id, serial, tenant_id FROM passports WHERE unique_identifier = %(text)s
  UNION ALL
  (SELECT 'document', document_id, external_ref, tenant_id FROM documents WHERE external_ref = %(text)s LIMIT 50)
  UNION ALL
  (SELECT 'build', b.build_id, d.external_ref, d.tenant_id
   FROM documents AS d
   JOIN document_versions AS v USING (tenant_id, document_id)
   JOIN passport_build_documents AS b USING (tenant_id, document_version_id)
   WHERE d.external_ref = %(text)s
   LIMIT 50)
  UNION ALL
  SELECT 'product', battery_product_id, identifier, tenant_id FROM battery_products
  WHERE gtin = %(gtin)s::text OR identifier = %(text)s
) AS found
JOIN tenants AS t USING (tenant_id)
