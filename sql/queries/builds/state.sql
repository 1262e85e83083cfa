-- Where a build stands, and each of its documents.
SELECT b.build_id, b.passport_id, p.unique_identifier, b.state, b.snapshot_id, b.passport_version_id, b.errors,
       (SELECT jsonb_agg(jsonb_build_object('file', d.external_ref, 'kind', d.kind,
                                            'status', coalesce(v.status, 'WAITING')) ORDER BY d.external_ref)
        FROM passport_build_documents AS d
        LEFT JOIN document_versions AS v ON v.document_version_id = d.document_version_id
        WHERE d.build_id = b.build_id) AS documents
FROM passport_builds AS b JOIN passports AS p USING (tenant_id, passport_id)
WHERE b.tenant_id = %(tenant_id)s AND b.build_id = %(build_id)s
