-- A version with its text, and what its last run of tests found.
SELECT v.rule_package_version_id, p.name, v.version, v.status, v.dsl_sha256, v.tests_sha256, v.dsl, v.created_at,
       (SELECT jsonb_build_object('job_id', r.job_id, 'passed', r.passed, 'cases', r.cases, 'seed', r.seed,
                                  'tests', r.report)
        FROM rule_tests_runs AS r
        WHERE r.tenant_id = v.tenant_id AND r.rule_package_version_id = v.rule_package_version_id
        ORDER BY r.created_at DESC
        LIMIT 1) AS last_run
FROM rule_package_versions AS v JOIN rule_packages AS p USING (tenant_id, rule_package_id)
WHERE v.tenant_id = %(tenant_id)s AND v.rule_package_version_id = %(rule_package_version_id)s
