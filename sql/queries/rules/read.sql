-- A version with its text.
SELECT v.rule_package_version_id, p.name, v.version, v.status, v.dsl_sha256, v.tests_sha256, v.dsl
FROM rule_package_versions AS v JOIN rule_packages AS p USING (tenant_id, rule_package_id)
WHERE v.tenant_id = %(tenant_id)s AND v.rule_package_version_id = %(rule_package_version_id)s
