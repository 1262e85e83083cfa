-- All versions of all packages, by name and number.
SELECT v.rule_package_version_id, p.name, v.version, v.status, v.dsl_sha256
FROM rule_package_versions AS v JOIN rule_packages AS p USING (tenant_id, rule_package_id)
WHERE v.tenant_id = %(tenant_id)s
ORDER BY p.name, v.version
