-- A version with its text.
SELECT rule_package_version_id, dsl, dsl_sha256, tests_sha256, status
FROM rule_package_versions
WHERE tenant_id = %(tenant_id)s AND rule_package_version_id = %(rule_package_version_id)s
