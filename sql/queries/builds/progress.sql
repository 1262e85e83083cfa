-- How many documents of a build are not there or not yet read, and how many were rejected.
SELECT count(*) FILTER (WHERE v.status IS NULL OR v.status = 'UPLOADED') AS waiting,
       count(*) FILTER (WHERE v.status = 'REJECTED') AS rejected
FROM passport_build_documents AS d
LEFT JOIN document_versions AS v USING (tenant_id, document_version_id)
WHERE d.tenant_id = %(tenant_id)s AND d.build_id = %(build_id)s
