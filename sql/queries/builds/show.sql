-- One build, as in the list, with what stopped it and its documents, each with what is wrong with it.
SELECT b.build_id, b.passport_id, p.serial, product.identifier AS product, p.unique_identifier, b.state,
       k.name || '@' || r.version AS rules, b.law_date, b.snapshot_id, b.passport_version_id, b.created_at,
       b.finished_at, coalesce(b.errors, '[]') AS errors,
       (SELECT jsonb_agg(jsonb_build_object(
          'file', d.external_ref, 'kind', d.kind, 'status', coalesce(v.status, 'WAITING'),
          'document_version_id', d.document_version_id, 'sha256', encode(d.sha256, 'hex'),
          'errors', CASE v.status WHEN 'REJECTED' THEN v.errors ELSE '[]' END) ORDER BY d.external_ref)
        FROM passport_build_documents AS d
        LEFT JOIN document_versions AS v ON v.document_version_id = d.document_version_id
        WHERE d.build_id = b.build_id) AS documents
FROM passport_builds AS b
JOIN passports AS p USING (tenant_id, passport_id)
JOIN battery_products AS product ON product.battery_product_id = b.battery_product_id
JOIN rule_package_versions AS r ON r.rule_package_version_id = b.rule_package_version_id
JOIN rule_packages AS k ON k.rule_package_id = r.rule_package_id
WHERE b.tenant_id = %(tenant_id)s AND b.build_id = %(build_id)s
