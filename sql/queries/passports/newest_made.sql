-- By which rules, and under the law of which day, the newest version of a passport was made.
SELECT k.name AS rules, v.law_date
FROM passport_versions AS v
JOIN rule_package_versions AS r USING (tenant_id, rule_package_version_id)
JOIN rule_packages AS k USING (tenant_id, rule_package_id)
WHERE v.tenant_id = %(tenant_id)s AND v.passport_id = %(passport_id)s
ORDER BY v.created_at DESC, v.passport_version_id DESC
LIMIT 1
