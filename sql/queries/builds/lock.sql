-- A build, held until the transaction ends.
SELECT build_id, tenant_id, passport_id, rule_package_version_id, law_date, state, snapshot_id, passport_version_id
FROM passport_builds
WHERE tenant_id = %(tenant_id)s AND build_id = %(build_id)s
FOR UPDATE
