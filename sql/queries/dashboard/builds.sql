-- A page of builds, the newest first: ids are ordered by time.
SELECT b.build_id, b.tenant_id, t.name AS tenant, b.state, b.created_at, b.finished_at, b.snapshot_id, b.passport_version_id,
       b.errors, p.passport_id, p.serial, m.identifier AS product, asked.documents, asked.read, asked.rejected
FROM (
  SELECT build_id, tenant_id, state, created_at, finished_at, snapshot_id, passport_version_id, errors, passport_id,
         battery_product_id
  FROM passport_builds
  WHERE (%(tenant_id)s::uuid IS NULL OR tenant_id = %(tenant_id)s)
    AND (%(state)s::text IS NULL OR state = %(state)s AND (state <> 'DONE' OR %(state)s = 'DONE'))
    AND (%(after)s::uuid IS NULL OR build_id < %(after)s)
  ORDER BY build_id DESC
  LIMIT %(page)s
) AS b
JOIN tenants AS t USING (tenant_id)
JOIN passports AS p ON p.tenant_id = b.tenant_id AND p.passport_id = b.passport_id
JOIN battery_products AS m ON m.tenant_id = b.tenant_id AND m.battery_product_id = b.battery_product_id
CROSS JOIN LATERAL (
  SELECT count(*) AS documents, count(*) FILTER (WHERE v.status IN ('VALIDATED', 'REJECTED')) AS read,
         count(*) FILTER (WHERE v.status = 'REJECTED') AS rejected
  FROM passport_build_documents AS d
  LEFT JOIN document_versions AS v ON v.tenant_id = d.tenant_id AND v.document_version_id = d.document_version_id
  WHERE d.build_id = b.build_id) AS asked
ORDER BY b.build_id DESC
