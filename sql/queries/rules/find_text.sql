-- The version of a package that has this text.
SELECT v.rule_package_version_id, p.name, v.version, v.status, v.dsl_sha256
FROM rule_package_versions AS v JOIN rule_packages AS p USING (tenant_id, rule_package_id)
WHERE v.tenant_id = %(tenant_id)s AND p.name = %(name)s AND v.dsl_sha256 = %(dsl_sha256)s
