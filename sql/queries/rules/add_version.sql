-- The next number. Of two that add at the same moment, one meets the unique key and may try again.
INSERT INTO rule_package_versions (tenant_id, rule_package_id, version, dsl, dsl_sha256, tests_sha256)
SELECT p.tenant_id, p.rule_package_id,
       1 + coalesce((SELECT max(v.version) FROM rule_package_versions AS v
                     WHERE v.tenant_id = p.tenant_id AND v.rule_package_id = p.rule_package_id), 0),
       %(dsl)s, %(dsl_sha256)s, %(tests_sha256)s
FROM rule_packages AS p
WHERE p.tenant_id = %(tenant_id)s AND p.name = %(name)s
ON CONFLICT (tenant_id, rule_package_id, dsl_sha256) DO NOTHING
