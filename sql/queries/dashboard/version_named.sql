-- What the id of a version, or of a passport, means: the version, or the newest one of the passport.
SELECT v.passport_version_id, v.passport_id, v.tenant_id, t.name AS tenant
FROM (
  SELECT passport_version_id, passport_id, tenant_id, created_at FROM passport_versions WHERE passport_version_id = %(id)s
  UNION ALL
  (SELECT v.passport_version_id, v.passport_id, v.tenant_id, v.created_at
   FROM passports AS p JOIN passport_versions AS v USING (tenant_id, passport_id)
   WHERE p.passport_id = %(id)s
   ORDER BY v.created_at DESC, v.issued_at DESC, v.passport_version_id
   LIMIT 1)
) AS v
JOIN tenants AS t USING (tenant_id)
LIMIT 1
