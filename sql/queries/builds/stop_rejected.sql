-- With the mistakes of every rejected document, in order of its name.
UPDATE passport_builds SET state = 'STOPPED', errors = (
  SELECT coalesce(jsonb_agg(jsonb_build_object('document', d.external_ref) || mistake
                            ORDER BY d.external_ref, position), '[]')
  FROM passport_build_documents AS d
  JOIN document_versions AS v USING (tenant_id, document_version_id)
  CROSS JOIN LATERAL jsonb_array_elements(v.errors) WITH ORDINALITY AS listed (mistake, position)
  WHERE d.tenant_id = %(tenant_id)s AND d.build_id = %(build_id)s AND v.status = 'REJECTED')
WHERE tenant_id = %(tenant_id)s AND build_id = %(build_id)s
