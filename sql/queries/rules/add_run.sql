-- What a run of tests found; the same job again adds nothing.
INSERT INTO rule_tests_runs (tenant_id, rule_package_version_id, job_id, seed, cases, passed, report)
VALUES (%(tenant_id)s, %(rule_package_version_id)s, %(job_id)s, %(seed)s, %(cases)s, %(passed)s, %(report)s::jsonb)
ON CONFLICT DO NOTHING
